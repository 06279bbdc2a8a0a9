"""What every policy must hold, ours or yours: `check_policy(policy)` puts one through the whole contract."""

from toplist.checks.promises import CheckFailed, check_policy, contract

__all__ = ["CheckFailed", "check_policy", "contract"]
