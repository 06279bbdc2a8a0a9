/** Numbers and times as text. */

export const percent = (share: number, digits = 1): string => `${(100 * share).toFixed(digits)}%`;
export const integer = (number: number): string => Math.round(number).toLocaleString("en");
export const decimal = (number: number | null): string => (number === null ? "–" : number.toFixed(3));
export const plural = (count: number, word: string): string => `${integer(count)} ${word}${count === 1 ? "" : "s"}`;

/** A number with its sign, as a percentage or as it is. */
export const signed = (number: number, digits = 1, isShare = true): string => {
  const text = isShare ? percent(Math.abs(number), digits) : Math.abs(number).toFixed(digits);
  return `${number < 0 ? "−" : "+"}${text}`;
};

/** The time of day of an RFC 3339 time. */
export const clock = (at: string): string => new Date(at).toLocaleTimeString("en", { hour12: false });
export const moment = (at: string): string => new Date(at).toLocaleString("en", { hour12: false });

/** Labels of a time axis whose lines are `step` seconds apart: times of day, or dates; the first of a day has the date. */
export function timeLabels(seconds: number[], step: number): string[] {
  let before = "";
  return seconds.map((at) => {
    if (at % 1) return ""; // between two seconds
    const time = new Date(at * 1000);
    const day = time.toLocaleDateString("en", { day: "numeric", month: "short" });
    const isNew = day !== before;
    before = day;
    if (step >= 86_400) return day;
    const text = time.toLocaleTimeString("en-GB", step < 60 ? {} : { hour: "2-digit", minute: "2-digit" });
    return isNew ? `${text}\n${day}` : text;
  });
}

/** Wilson's 95% interval of a proportion. */
export function wilson(successes: number, trials: number): [number, number] {
  if (trials <= 0) return [0, 1];
  const z = 1.959964;
  const share = successes / trials;
  const spread = z * Math.sqrt((share * (1 - share)) / trials + (z * z) / (4 * trials * trials));
  const scale = 1 + (z * z) / trials;
  const middle = share + (z * z) / (2 * trials);
  return [Math.max(0, (middle - spread) / scale), Math.min(1, (middle + spread) / scale)];
}
