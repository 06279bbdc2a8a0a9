"""The probability with which a policy shows a list: exact where there is a closed form, else by repeated draws."""
