"""Do fits of click models find the parameters, and the model, that a log was simulated from?"""
