"""All attacks at full size, with a table of tries and breaks: ``python -m tests.adversary [share] [name ...]``."""

import sys
import time

from tests.adversary.catalogue import families


def main(arguments: list[str]) -> int:
    """Run the families named (all by default), at a share of full size; 1 if anything broke."""
    share = float(arguments[0]) if arguments else 1.0
    wanted = arguments[1:]
    broken = total = 0
    print(f"{'family':<42}{'tries':>10}{'breaks':>8}{'worst':>10}{'refused':>9}{'CPU s':>9}")
    for family in families():
        if wanted and not any(part in family.name for part in wanted):
            continue
        start = time.process_time()
        tally = family.run(max(1, round(share * family.examples)))
        seconds = time.process_time() - start
        counts = f"{tally.tries:>10,}{len(tally.breaks):>8}{tally.worst - 1:>10.1e}{tally.refused:>9}{seconds:>9.0f}"
        print(f"{family.name:<42}{counts}", flush=True)
        for line in tally.breaks[:: max(1, len(tally.breaks) // 5)]:
            print(f"    {line}", flush=True)
        broken += len(tally.breaks)
        total += tally.tries
    print(f"{'all':<42}{total:>10,}{broken:>8}{'':>19}{time.process_time():>9.0f}")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
