/** A long table of which only the rows in view are in the page; others are asked for when they are scrolled to. */

import { element } from "./dom";

export const WINDOW = 100; // rows in the page
const AHEAD = 30; // rows above the first one in view
const WAIT = 120; // milliseconds after the last movement

export class VirtualRows {
  private total = 0;
  private offset = 0;
  private count = 0;
  private height = 40;
  private timer: number | undefined;

  /** `want` is called with the first row to ask for. */
  constructor(
    private readonly scroller: HTMLElement,
    private readonly body: HTMLElement,
    private readonly columns: number,
    private readonly want: (offset: number) => void,
  ) {
    scroller.addEventListener("scroll", () => {
      clearTimeout(this.timer);
      this.timer = setTimeout(() => this.look(), WAIT);
    });
  }

  /** Show some rows of a longer table, and keep the focus where it is. */
  show(total: number, offset: number, rows: HTMLTableRowElement[]): void {
    const focused = this.body.contains(document.activeElement) ? document.activeElement?.getAttribute("href") : null;
    this.total = total;
    this.offset = Math.min(offset, total);
    this.count = rows.length;
    rows.forEach((row, at) => row.setAttribute("aria-rowindex", String(offset + at + 2))); // the head is the first
    this.body.closest("table")!.setAttribute("aria-rowcount", String(total + 1));
    const below = Math.max(0, total - this.offset - this.count);
    const draw = () => this.body.replaceChildren(...this.space(this.offset), ...rows, ...this.space(below));
    draw();
    const height = rows[0]?.offsetHeight;
    if (height && height !== this.height) {
      this.height = height;
      draw();
    }
    if (focused) this.body.querySelector<HTMLElement>(`[href="${CSS.escape(focused)}"]`)?.focus({ preventScroll: true });
  }

  /** Go to the first row, as for another table. */
  reset(): void {
    this.scroller.scrollTop = 0;
    this.offset = this.total = this.count = 0;
  }

  /** A row in place of those that are not in the page; none for no rows. */
  private space(rows: number): HTMLElement[] {
    if (!rows) return [];
    const cell = element("td", { colspan: String(this.columns), class: "space" });
    cell.style.height = `${rows * this.height}px`;
    return [element("tr", { "aria-hidden": "true" }, cell)];
  }

  /** Ask for rows if some in view are not in the page. */
  private look(): void {
    const first = Math.floor(this.scroller.scrollTop / this.height);
    const last = Math.min(this.total, Math.ceil((this.scroller.scrollTop + this.scroller.clientHeight) / this.height));
    if (first >= this.offset && last <= this.offset + this.count) return;
    this.want(Math.max(0, Math.min(first - AHEAD, this.total - WINDOW)));
  }
}
