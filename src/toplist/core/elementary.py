"""Exponentials and logarithms that are equal to the last bit on every processor, in plain Python too.

Those of `math` are the library's of a machine or of a GPU, and may differ in the last place. That is enough to change
what a policy shows where it compares sums of many of them. These use sums, products and quotients alone, to 1e-15.
"""

from __future__ import annotations

import math

import numpy as np

from toplist.core.compiling import helper
from toplist.core.slate import Floats

LOG_2 = math.log(2.0)
_PER_LOG_2 = 1.0 / LOG_2
_LOG_2_HIGH = 6.93147180369123816490e-01  # 32 bits of it, so that products with small whole numbers are exact ...
_LOG_2_LOW = 1.90821492927058770002e-10  # ... and the rest


@helper
def exponential(x: float) -> float:
    """e to the power of x."""
    power = nearest_power(x)
    return math.ldexp(1.0 + power_series(x, power), power)


@helper
def exponential_minus_one(x: float) -> float:
    """e to the power of x, less 1; exact near 0, too."""
    power = nearest_power(x)
    return math.ldexp(power_series(x, power), power) + (math.ldexp(1.0, power) - 1.0)


@helper
def logarithm(x: float) -> float:
    """The natural logarithm of a positive number."""
    mantissa, power = math.frexp(x)
    if mantissa < math.sqrt(0.5):
        mantissa *= 2.0
        power -= 1
    return power * LOG_2 + logarithm_series(mantissa)


@helper
def logarithm_of_one_plus(x: float) -> float:
    """The natural logarithm of 1 + x; exact near 0, too, since 1 + x is rounded equally in both factors."""
    whole = 1.0 + x
    return x if whole == 1.0 else logarithm(whole) * (x / (whole - 1.0))


@helper
def take_logarithms(values: Floats) -> None:
    """Replace positive numbers by their natural logarithms; a number alone takes longer, since this is vectorised."""
    bits = values.view(np.int64)
    for i in range(len(values)):
        power = (bits[i] >> 52) - 1023
        bits[i] = (bits[i] & ((1 << 52) - 1)) | (1023 << 52)
        mantissa = values[i]
        if mantissa > math.sqrt(2.0):
            mantissa *= 0.5
            power += 1
        values[i] = power * LOG_2 + logarithm_series(mantissa)


@helper
def logarithm_series(mantissa: float) -> float:
    """The logarithm of a number between sqrt(1/2) and sqrt(2): twice the inverse hyperbolic tangent of (m-1)/(m+1)."""
    x = (mantissa - 1.0) / (mantissa + 1.0)
    s = x * x
    series = 1 / 15 + s * (1 / 17 + s * (1 / 19 + s * (1 / 21)))
    series = 1 / 9 + s * (1 / 11 + s * (1 / 13 + s * series))
    series = 1 / 3 + s * (1 / 5 + s * (1 / 7 + s * series))
    return 2.0 * x * (1.0 + s * series)


@helper
def nearest_power(x: float) -> int:
    """The power of 2 that is nearest to e to the power of x."""
    return math.floor(x * _PER_LOG_2 + 0.5)


@helper
def power_series(x: float, power: int) -> float:
    """e to the power of x, divided by 2 to this power, less 1, by Taylor's series; what it omits is below 1e-17."""
    x = (x - power * _LOG_2_HIGH) - power * _LOG_2_LOW
    series = 1 / 720 + x * (1 / 5040 + x * (1 / 40_320 + x * (1 / 362_880 + x * (1 / 3_628_800))))
    series += x * x * x * x * x * (1 / 39_916_800 + x * (1 / 479_001_600 + x * (1 / 6_227_020_800)))
    series = 1 / 24 + x * (1 / 120 + x * series)
    return x + x * x * (1 / 2 + x * (1 / 6 + x * series))
