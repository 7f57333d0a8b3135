"""What residents are called. Ids are plain ASCII: a first name and the index."""

from __future__ import annotations

import unicodedata

import numpy as np

from simflow.world.draws import Draws, Ints

_FIRST = {
    "en": "Ada Alma Amos Anna Arlo Bela Ben Cara Carl Clara Cora Dan Dora Edda Eli Ella Emma Enzo Esme Eva Finn Flora Gita Gus Hana Hugo Ida "
    "Ines Iris Ivan Ivo Jana Jonas Jude Karl Kira Lara Lena Leo Lila Luca Lucy Mara Marc Maya Mila Mira Nadia Nell Nico Nina Noah Nora "
    "Olga Omar Oscar Otto Paul Pia Rafa Rita Rosa Ruth Sam Sara Theo Tilda Tom Uma Vera Yara Zoe",
    "pt": "Alice Ana Andre Beatriz Bento Bruno Caio Carla Cecilia Clara Davi Diana Duda Elisa Enzo Felipe Flavia Gabriel Helena Hugo Igor "
    "Ines Isabel Joana Joaquim Julia Lara Leandro Leonor Lia Lucas Luiza Manuel Mariana Mateus Miguel Nuno Olivia Otavio Paula Pedro "
    "Rafael Raquel Renata Rita Rosa Rui Sandra Sofia Tiago Tomas Vasco Vitor",
    "es": "Abel Alba Alicia Alvaro Ana Bruno Carla Carmen Celia Cesar Clara Dario David Diego Elena Elsa Emilio Eva Felix Gema Gloria Hugo "
    "Ines Irene Isabel Ivan Javier Jorge Julia Laura Leo Lidia Lola Lucia Luis Mara Marcos Marina Mario Marta Mateo Nadia Nora Nuria "
    "Olga Pablo Pilar Raul Rocio Rosa Sara Sergio Silvia Sofia Teresa Tomas Vera",
    "uk": "Alina Anton Artem Bohdan Daryna Denys Diana Dmytro Emma Halyna Hanna Ihor Inna Iryna Ivan Kateryna Kira Larysa Lesia Liliia "
    "Liudmyla Maksym Marko Mariia Marta Maryna Mykola Myron Nadiia Natalia Nazar Nina Oksana Oleh Olena Olha Orest Ostap Pavlo Petro "
    "Polina Roman Sofiia Solomiia Stepan Taras Tetiana Vasyl Vira Vitalii Yana Yaryna Yurii Zoia",
}
_LAST = {
    "en": "Abbot Adler Amsel Arden Bach Barlow Bauer Bell Berg Black Blum Brandt Brook Carver Cole Dahl Dean Ebner Falk Fenn Field Fisher Frost "
    "Gale Graf Gray Hale Hart Hill Holm Hunt Jansen Keller Kern King Lang Lark Lind Lowe Mann Marsh May Moore Moss Nagel North Novak "
    "Page Park Penn Pike Reed Rhodes Rivers Roth Sander Shaw Stein Stone Swan Thorn Vale Vogel Ward Weber West Wolf Wood York",
    "pt": "Alves Amaral Araujo Barros Braga Brito Cardoso Castro Coelho Correia Costa Couto Cruz Dias Duarte Faria Ferraz Fonseca Freitas "
    "Gomes Leal Lemos Lima Lopes Macedo Maia Marques Matos Melo Mendes Moraes Moura Neves Nunes Pinto Pires Prado Ramos Reis Ribeiro "
    "Rocha Sales Santos Serra Silva Soares Sousa Tavares Teles Vaz Viana Vieira",
    "es": "Alba Alonso Arias Blanco Bravo Cabrera Calvo Campos Cano Castro Cortes Costa Cruz Delgado Diaz Duran Flores Fuentes Gallego Gil "
    "Herrera Iglesias Lara Leon Lozano Luna Marin Medina Mora Moreno Navarro Nieto Ortega Ortiz Parra Pastor Pena Prieto Ramos Reyes "
    "Rojas Romero Rubio Saez Santos Serra Soler Soto Suarez Torres Vega Vidal",
    "uk": "Bondar Boiko Chorna Danko Demko Drach Fedko Havryk Hnat Holub Horban Hrytsak Ivashko Kalyna Klymko Kobzar Koval Kravets Kulyk "
    "Lysenko Lytvyn Maliuk Marchuk Melnyk Moroz Oliinyk Panchuk Petryk Polishchuk Rudenko Savchuk Shevchuk Shpak Skoropad Sokil Stelmakh "
    "Sydor Tkach Tkachuk Tymko Vdovych Vovk Yarema Yurko Zaiets Zhuk",
}


def names(draws: Draws, agents: Ints, code: str) -> tuple[list[str], list[str]]:
    """(ids, display names) of residents, e.g. `rosa14`, `Rosa Lind`."""
    language = code.split("-", 1)[0].lower()
    first = _FIRST.get(language, _FIRST["en"]).split()
    last = _LAST.get(language, _LAST["en"]).split()
    given = [first[k] for k in (draws.bits("first name", -1, agents) % np.uint64(len(first))).tolist()]
    family = [last[k] for k in (draws.bits("last name", -1, agents) % np.uint64(len(last))).tolist()]
    ids = [f"{name.lower()}{agent}" for name, agent in zip(given, agents.tolist(), strict=True)]
    return ids, [f"{name} {other}" for name, other in zip(given, family, strict=True)]


def handle(name: str) -> str:
    """A voice's id: its name in lower case ASCII with underscores, or its letters as they are if nothing is left."""
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower()
    if not any(c.isalnum() for c in plain):
        plain = name.lower()
    return "_".join("".join(c if c.isalnum() else " " for c in plain).split()) or "voice"
