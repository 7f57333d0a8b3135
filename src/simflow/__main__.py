"""`python -m simflow` is `simflow`."""

from simflow.cli import main

if __name__ == "__main__":
    main()
