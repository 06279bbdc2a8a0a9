"""The contract that every policy must hold, yours included: `check_policy(policy)` checks all of it."""

from toplist.checks.promises import CheckFailed, check_policy, contract

__all__ = ["CheckFailed", "check_policy", "contract"]
