import pytest

from tests.text.cleaning import clean
from textmill.text.documents import Document
from textmill.text.gutenberg import gutenberg_licence

BOOK = "Produced by Someone\n\nCHAPTER I\n\nThe end of the project was near.\n\nTHE END\n"
# Headers and footers as they stood in files of different years.
HEADERS = [
    (
        "\nThe Project Gutenberg eBook of A Book\n\nTitle: A Book\n\n"
        "*** START OF THE PROJECT GUTENBERG EBOOK A BOOK ***\n"
    ),
    "Project Gutenberg's A Book, by X\n\n*** START OF THIS PROJECT GUTENBERG EBOOK A BOOK ***\n",
    "***START OF THE PROJECT GUTENBERG EBOOK A BOOK***\n",
    "*** START OF THE PROJECT GUTENBERG EBOOK A BOOK: WITH A TITLE THAT\nTAKES TWO LINES ***\n",
    "*** START OF THE COPYRIGHTED PROJECT GUTENBERG EBOOK A BOOK ***\n",
    (
        "***START**THE SMALL PRINT!**FOR PUBLIC DOMAIN ETEXTS**START***\nWhy is this here?\n"
        "*END*THE SMALL PRINT! FOR PUBLIC DOMAIN ETEXTS*Ver.04.29.93*END*\n"
    ),
    (
        "This file should be named abook10.txt or abook10.zip\n"
        "*END THE SMALL PRINT! FOR PUBLIC DOMAIN ETEXTS*Ver.10/04/01*END*\n"
    ),
]
FOOTERS = [
    "*** END OF THE PROJECT GUTENBERG EBOOK A BOOK ***\n\nUpdated editions will replace\n",
    (
        "End of the Project Gutenberg EBook of A Book, by X\n\n"
        "*** END OF THIS PROJECT GUTENBERG EBOOK A BOOK ***\n\n***** This file should be named 1.txt\n"
    ),
    "End of Project Gutenberg's A Book, by X\n\n***END OF THE PROJECT GUTENBERG EBOOK A BOOK***\n",
    "End of The Project Gutenberg Etext of A Book\n",
    "\n\n*** START: FULL LICENSE ***\n\nTHE FULL PROJECT GUTENBERG LICENSE\n",
]


@pytest.mark.parametrize("header", HEADERS)
@pytest.mark.parametrize("footer", FOOTERS)
def test_the_licence_is_cut_in_every_wording_and_the_book_is_whole(
    header: str, footer: str
) -> None:
    cut = gutenberg_licence(header + BOOK + footer)
    blank = footer[: len(footer) - len(footer.lstrip("\n"))]
    assert cut.text == BOOK + blank
    lines = {loss.reason: loss.count for loss in cut.losses}
    assert lines == {
        "licence header": header.count("\n"),
        "licence footer": footer.count("\n") - len(blank),
    }
    assert gutenberg_licence(cut.text).text == cut.text


def test_a_text_without_the_marks_stays_as_it_is() -> None:
    talk = 'He said: "the end of the Project Gutenberg is near", *** start of the story ***\n'
    assert gutenberg_licence(BOOK + talk).text == BOOK + talk
    assert gutenberg_licence("").text == ""


def test_several_books_in_one_file_are_each_kept() -> None:
    file = (
        "".join(HEADERS[0] + f"Book {i}\n" + FOOTERS[0] for i in range(3)) + HEADERS[1] + "Last\n"
    )
    assert gutenberg_licence(file).text == "Book 0\nBook 1\nBook 2\nLast\n"


def test_a_header_or_footer_alone_is_cut_too() -> None:
    assert gutenberg_licence(HEADERS[0] + BOOK).text == BOOK
    assert gutenberg_licence(BOOK + FOOTERS[1]).text == BOOK


def test_the_profile_is_plain_without_the_licence_and_its_books_balance() -> None:
    text = ("\ufeff" + HEADERS[0] + BOOK + FOOTERS[0]).replace("\n", "\r\n")
    kept, books = clean([Document("x", "x", text)], "gutenberg")
    plain = clean([Document("x", "x", BOOK)], "plain")[0]
    assert kept == plain
    (record,) = [one for one in books if one["rule"] == "gutenberg licence"]
    assert record["lines"]["dropped"] == HEADERS[0].count("\n") + FOOTERS[0].count("\n")
    assert record["reasons"]["licence footer"]["examples"] == [
        "x: *** END OF THE PROJECT GUTENBERG EBOOK A BOOK ***"
    ]
