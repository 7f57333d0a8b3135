"""People files: residents by name, as other tools' users have them, read without evaluating anything."""

from simflow.scenario.people.gather import PeopleFile, read_people, write_people

__all__ = ["PeopleFile", "read_people", "write_people"]
