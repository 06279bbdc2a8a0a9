"""Which click model is true here? Held-out lists, paired differences, calibration, pictures and a page."""
