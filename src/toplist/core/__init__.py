"""What every part is written in: slates, problems, protocols, random numbers, beliefs and the compiler."""
