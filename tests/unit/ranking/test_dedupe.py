# ruff: noqa: RUF001 (look-alike characters are what is tested)
import pytest

from retentive.ranking.dedupe import NEAR_COSINE, same_fact, text_key, why_different

DIFFERENT = """
Smoking is permitted on the roof terrace | Smoking is not permitted on the roof terrace
Ida eats nuts | Ida never eats nuts
The alarm is on | The alarm is off
明天开会 | 明天不开会
The guest printer listens on port 9101 | The guest printer listens on port 9102
Rev A of plan LB-30 is approved | Rev B of plan LB-30 is approved
Rev A of plan LB-30 is approved | Rev of plan LB-30 is approved
Nora's desk is 4.12 | Noah's desk is 4.12
Meet at 7 am | Meet at 7 pm
Meet at 7am | Meet at 7pm
Dose: 5 mg | Dose: 5 µg
Dose: 5 mg | Dose: 5 Mg
The array draws 5 mW | The array draws 5 MW
The link carries 1 Gb | The link carries 1 GB
The link carries 40 Mbps | The link carries 40 MBps
The tank holds 5mL | The tank holds 5ML
The offset is -5 | The offset is 5
The room measures 30 m² | The room measures 30 m2
Add 1½ cups | Add 11/2 cups
The count is 10⁵ | The count is 105
See step ① | See step 1
Look in etc/app | Look in etc app
Write it in C++ | Write it in C
Write it in C# | Write it in C
Write it in C++ | Write it in C#
The version is 1.5 | The version is 15
The version is 1.5 | The version is 1,5
Rooms 1, 2 are free | Rooms 1 2 are free
The price is $5 | The price is €5
The price is 5 USD | The price is 5 EUR
It rose 5% | It rose 5
Ticket AB-12 is open | Ticket AB-21 is open
The id is aGk3Xy | The id is agk3xy
The password is hunter2! | The password is hunter2
The password is please | The password is really
The keyword is a | The keyword is the
Run cd .. in the shell | Run cd in the shell
Meet on Monday at the pier | Meet on Tuesday at the pier
The fair is in May | The fair is in June
Ida was born in 1984 | Ida was born in 1985
Ida has two brothers | Ida has three brothers
Ida has two brothers | Ida has 3 brothers
The talk starts at 10:30 | The talk starts at 10:20
The date is 2026-03-04 | The date is 2026-04-03
Ann owes Bob | Bob owes Ann
Ann owes Bob ten euros | Bob owes Ann ten euros
Ann and Bob placed first and second | Bob and Ann placed first and second
Invite Mary Ann and Bob | Invite Mary, Ann and Bob
Ida is a doctor | Ida was a doctor
Ida is a doctor | Ida will be a doctor
Ida walked to work | Ida walks to work
Ida cut the budget | Ida cuts the budget
Ida quit smoking | Ida quits smoking
Ida may enter the vault | Ida must enter the vault
Ida should call back | Ida can call back
I like the plan | You like the plan
He signed the lease | She signed the lease
All tests pass | Some tests pass
Both doors are locked | None of the doors are locked
Only Ida has a key | Ida has a key
Ida has a few friends | Ida has few friends
Ida drinks a little wine | Ida drinks little wine
The rent is for a year | The rent is for the year
Wait half a day | Wait half the day
Tea costs more than coffee | Tea costs less than coffee
Call before noon | Call after noon
The shelf is over the desk | The shelf is under the desk
The gate is open | The gate is closed
Admins allow uploads | Admins forbid uploads
Ida likes jazz | Ida dislikes jazz
Ida loves rain | Ida hates rain
Ida likes jazz | Ida likes to jazz
Turn left at the mill | Turn right at the mill
The lift goes up | The lift goes down
Buy the shares | Sell the shares
They accept cards | They reject cards
The claim is true | The claim is false
The flag is enabled | The flag is disabled
The soup is hot | The soup is cold
Sales increase in autumn | Sales decrease in autumn
Ida stopped smoking | Ida started smoking
Ida still works here | Ida no longer works here
Ida hardly sleeps | Ida sleeps
Ida doesn't eat meat | Ida does eat meat
Ida can't swim | Ida can swim
Ida won't come | Ida will come
It's cold in there | It's not cold in there
No, smoking is allowed here | No smoking is allowed here
Don't, stop | Don't stop
Ida is not really sick | Ida is not sick
The office has a terrace | The office has a balcony
The office has a terrace | The office has a terrace and a pool
The office is in Rome | The office is in Oslo
Is the alarm on? | The alarm is on
The alarm is on? | The alarm is on
He's lost the key | He is lost the key
Ida's dog is ill | Ida is dog ill
Ida has a brother in Rome | Ida has brothers in Rome
Ida's brother lives in Rome | Ida's brothers live in Rome
Ida eats a nut | Ida eats nuts
Ida likes glass | Ida likes glasses
Ida likes the cat | Ida likes cats
Ida enjoys news | Ida enjoys new
The result of the test is: ok | The result of the test is
Ida left. Bob stayed | Ida left Bob stayed
Ida rated it 👍 | Ida rated it 👎
Ida is happy :) | Ida is happy :(
The band is The Who | The band is Who
Resign the lease | Re-sign the lease
Ida did not leave, because she was sad | Ida did not leave because she was sad
Ida is in prison | Ida is in the prison
Ida is in office | Ida is in the office
The two doors are locked | Two doors are locked
A roads are wide | Roads are wide
Ida has a love letter from Bob | Ida has love letters from Bob
Ida never really liked jazz | Ida never liked jazz
Plan a approved by the board | Plan approved by the board
Quit the editor with :q | Quit the editor with q
"Hello," said Ida to the crowd | "Thanks," said Ida to the crowd
The script prints "thanks, please" | The script prints "thanks"
Copy cd . now | Copy cd. now
The post has the likes counter | The post has the likes counters
She sent Bob her thanks | She sent Bob her
The id is aGk3Xyzw | The id is agk3xyzw
Take 5mg of it | Take 5Mg of it
ida likes adams | ida likes adam
Das Fenster ist offen | Das Fenster ist nicht offen
Das ist ein Hund | Das ist kein Hund
Das Licht ist an | Das Licht ist aus
Der Hund beißt den Mann | Den Hund beißt der Mann
Er trinkt in Maßen | Er trinkt in Massen
Nein, rauchen ist erlaubt | Nein rauchen ist erlaubt
Le magasin est ouvert | Le magasin n'est pas ouvert
Il mange de la viande | Il ne mange pas de viande
Il a fini | Il fini
Se puede fumar aquí | No se puede fumar aquí
No, se puede fumar aquí | No se puede fumar aquí
Ana nunca come carne | Ana siempre come carne
Ana llama a Luis | Ana llama Luis
El papá viaja hoy | El papa viaja hoy
Não, pode entrar | Não pode entrar
Он ест мясо | Он не ест мясо
Нет, можно курить | Нет можно курить
Мой кот любит рыбу | Мой кот любит мясо
هو يأكل اللحم | هو لا يأكل اللحم
قطتي تحب السمك | قطتي ليس تحب السمك
वह मांस खाता है | वह मांस नहीं खाता है
เขากินเนื้อ | เขาไม่กินเนื้อ
他吃肉 | 他没吃肉
他吃了肉 | 他吃肉
别开门 | 开门
不，可以抽烟 | 不可以抽烟
不要，走 | 不要走
他有三、四个孩子 | 他有三四个孩子
会议在3点 | 会议在4点
他每周三去游泳馆 | 他每周四去游泳馆
肉を食べる | 肉を食べない
肉を食べます | 肉を食べません
京都で抹茶アイスを食べた | 京都で抹茶アイスを食べたか
京都で抹茶アイスを食べた | 奈良で抹茶アイスを食べた
우리 강아지는 수영을 싫어한다 | 우리 강아지는 수영을 좋아한다
그는 고기를 먹는다 | 그는 고기를 안 먹는다
그는 수영을 한다 | 그는 수영을 못 한다
그는 차가 있다 | 그는 차가 없다
The wifi password is Hunter2 | The wifi password is hunter2
The licence key is ABCD-EFGH | The licence key is abcd-efgh
The files are in /Home/Bob | The files are in /home/bob
Start it with -V | Start it with -v
Set PATH first | Set path first
The burner leaks CO now | The burner leaks Co now
He lives with Grace | He lives with grace
It ships from Turkey | It ships from turkey
Она любит Надежду | Она любит надежду
Der gefangene Floh | Der Gefangene floh
The admin password is Sommer! | The admin password is Sommer
The pattern is ^a. | The pattern is ^a
Allergic to peanut, butter and wheat | Allergic to peanut butter and wheat
Allergic to soy, milk and egg | Allergic to soy milk and egg
他对花生,酱过敏 | 他对花生酱过敏
他在北,京东买房 | 他在北京,东买房
She met the father of Ida | She met a father of Ida
He ate a turkey | He ate turkey
Only really urgent calls are allowed | Only urgent calls are allowed
QZR | qzr
QZR |   QZR !
The alarm is on | The  alarm\tis on!
The office is in the Oslo tower | Office is in Oslo tower
Ida is the owner of the boat | Ida is owner of the boat
The band is The Who now | the band is the who now
Ida really likes jazz | Ida likes jazz
Ida actually lives in Oslo with her son | Ida lives in Oslo with her son
Ida likes cats, dogs, and birds | Ida likes cats, dogs and birds
When it rains, the road is closed | When it rains the road is closed
Ida (my sister) likes jazz | Ida, my sister, likes jazz
Le bureau est à Lyon ! | Le bureau est à Lyon
Когда холодно, кот спит | Когда холодно кот спит
明天，开会 | 明天开会
"""

SAME = """
QZR | QZR.
The alarm is on | the alarm is on.
Ida said “stop” | Ida said "stop"
Ida’s dog is ill | Ida's dog is ill
Dose: 5 µg | Dose: 5 μg
The offset is -5 | The offset is −5
Port ９１０１ | Port 9101
Meet at 7 AM | Meet at 7 am
Meet at 7 am | Meet at 7am
Meet at 7 a.m. today | Meet at 7 am today
Take 5mg of it daily | Take 5 mg of it daily
Ida doesn't eat meat | Ida does not eat meat
Ida doesn’t eat meat | Ida does not eat meat.
Ida can't swim | Ida cannot swim
They won't come | They will not come
I'm from Oslo | I am from Oslo
They're from Oslo | They are from Oslo
We've moved to Oslo | We have moved to Oslo
It's a large house | It is a large house
She's working in Oslo | She is working in Oslo
I'll call Ida | I will call Ida
Ida isnt sure | Ida isn't sure
Please close the gate when you leave | Close the gate when you leave
Close the gate when you leave, please | Close the gate when you leave
Please note that the office is in Oslo | The office is in Oslo
Note: the office is in Oslo | The office is in Oslo
As I said, the office is in Oslo | The office is in Oslo
The office is in Oslo, as I said | The office is in Oslo
By the way, the office is in Oslo | The office is in Oslo
FYI the office is in Oslo | The office is in Oslo
Hey, by the way, the office is in Oslo | The office is in Oslo
The office is in Oslo, thanks | The office is in Oslo
The user prefers email | The user prefers emails
User prefers email over phone | User prefers emails over phone.
They like cat | They like cats
Ida is allergic to nut | Ida is allergic to nuts
Mr. Smith is the owner | Mr Smith is the owner
The dose: 5 mg | The dose 5 mg
Salt & pepper are on the table | Salt and pepper are on the table
"Oslo" is on fire | Oslo is on fire
Is the alarm on? | is the alarm on ?
Das Büro ist in Köln. | das Büro ist in Köln
¿Está abierto? | Está abierto?
Les bureaux sont : rouges | Les bureaux sont: rouges
Мой кот любит рыбу | мой кот любит рыбу.
वह मांस खाता है। | वह मांस खाता है
明天开会。 | 明天开会
我用Python写代码 | 我用 Python 写代码
京都に住んでいます。 | 京都に住んでいますよ
ｶﾞﾗｽが好きです | ガラスが好きです
เขากินเนื้อครับ | เขากินเนื้อ
그는 고기를 먹는다. | 그는 고기를 먹는다
قطتي تحب السمك۔ | قطتي تحب السمك
"""


def _pairs(table: str) -> list[tuple[str, str]]:
    pairs: list[tuple[str, str]] = []
    for line in table.strip("\n").splitlines():
        a, _, b = line.partition(" | ")
        pairs.append((a, b))
    return pairs


@pytest.mark.parametrize(("a", "b"), _pairs(DIFFERENT))
def test_a_difference_that_carries_a_fact_keeps_two_texts_apart(a: str, b: str) -> None:
    assert not same_fact(a, b)
    assert not same_fact(b, a)
    assert text_key(a) != text_key(b)
    assert why_different(a, b)


@pytest.mark.parametrize(("a", "b"), _pairs(SAME))
def test_harmless_wording_is_the_same_fact(a: str, b: str) -> None:
    assert why_different(a, b) is None
    assert why_different(b, a) is None


def test_the_tables_are_as_long_as_promised() -> None:
    assert len(_pairs(DIFFERENT)) >= 120
    assert len(_pairs(SAME)) >= 50


@pytest.mark.parametrize("variant", [" QZR ", "QZR.", "\n QZR\t", "ＱＺＲ", "Q\u200bZR"])
def test_one_name_in_many_spellings_has_one_key(variant: str) -> None:
    assert text_key(variant) == text_key("QZR")


def test_composed_and_decomposed_letters_have_one_key() -> None:
    assert text_key("cafe\u0301") == text_key("caf\u00e9")


@pytest.mark.parametrize(
    "word", ["please", "really", "a", "The", "Hi,", "?", "¿", ",", "...", "\u0301", "\ud800", "\x00", "🙂"]
)
def test_a_lone_word_or_mark_is_neither_lost_nor_too_much(word: str) -> None:
    assert same_fact(word, word)
    assert not same_fact(word, "Ida")
    assert not same_fact(word, "")


def test_a_key_is_16_bytes_and_stays_the_same_across_versions() -> None:
    assert text_key("The alarm is on.").hex() == "741d04f3ca0310dd3c990c3fda6370c0"
    assert len(text_key("")) == 16


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("QZR", "QZR?"),
        ("cd .", "cd"),
        ("", "."),
        (".", "!"),
        ("a-b", "a b"),
        ("5'", '5"'),
        ("x² + 1", "x2 + 1"),
        ("Ⅳ", "IV"),
        ("Acme™", "AcmeTM"),
        ("straße", "strasse"),
        ("résumé", "resume"),
        ("cafe\u0301 of 5 m²", "cafe\u0301 of 5 m2"),
        ("1 bit", "1 Bit"),
    ],
)
def test_what_compatibility_folding_would_merge_has_two_keys(a: str, b: str) -> None:
    assert text_key(a) != text_key(b)


@pytest.mark.parametrize(
    ("a", "b", "reason"),
    [
        ("Port 9101 is free", "Port 9102 is free", "numbers differ: 9101 / 9102"),
        ("Ida has two cats", "Ida has three cats", "numbers differ: two / three"),
        ("It has a terrace", "It has a balcony", "words differ: terrace / balcony"),
        ("Ida eats nuts", "Ida never eats nuts", "negation"),
        ("Ann owes Bob", "Bob owes Ann", "order differs"),
        ("Is it on?", "Is it on", "question / statement"),
        ("", "Ida", "words differ: (none) / ida"),
        ("Ida likes tea", "Ida likes coffee", "words differ: tea / coffee"),
        ("The area is 5 * 3", "The area is 5 3", "words differ: * / (none)"),
    ],
)
def test_the_reason_names_what_differs(a: str, b: str, reason: str) -> None:
    assert why_different(a, b) == reason


def test_a_reason_stays_short_for_any_length_of_text() -> None:
    reason = why_different("x" * 10_000, "y" * 10_000)
    assert reason is not None
    assert len(reason) < 200


def test_the_cosine_gate_is_a_cosine_near_one() -> None:
    assert 0.8 <= NEAR_COSINE < 1.0


def test_long_texts_are_one_fact_only_in_the_same_words() -> None:
    long = "hi, " * 100_000 + "the boiler is old"
    assert same_fact(long, long.upper())
    assert not same_fact(long, f"Please note that {long}")
