"""Let ``python -m subscape`` do what the command ``subscape`` does."""

from subscape.cli.main import main

if __name__ == "__main__":
    main()
