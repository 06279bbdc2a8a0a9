"""The foundation of all parts: slates, problems, protocols, random numbers, beliefs and the compiler."""
