"""Words that stand in nearly every sentence of a language: asked for together with others they say
nothing, and which of them a text holds tells its language.

Loaded when first needed: a hook that asks in English alone pays for one list.
"""

from __future__ import annotations

from functools import cache
from typing import Final

_ENGLISH: Final = """
a about after all also am an and any are as at be because been before being but by can
could did do does doing for from had has have having he her here him his how i if in into
is it its just me more most my no nor not of on once only or other our out over own same
she should so some such than that the their them then there these they this those through
to too under until up very was we were what when where which while who whom why will with
would you your
"""
ENGLISH: Final = frozenset(_ENGLISH.split())

# What is left of "it's", "don't", "they'll"; and words that only questions are full of.
_ENGLISH_IN_QUERIES: Final = """
s t d ll m re ve don didn doesn isn wasn aren weren won wouldn couldn shouldn hasn haven hadn
again against between both down during each few further hers herself himself itself myself now
off ours ourselves theirs themselves yours yourself yourselves above below
"""

_OTHERS: Final = {
    "de": """
aber alle als also am an auch auf aus bei beim bin bis bist da damit dann das dass dein deine dem
den denn der des die dies diese diesem diesen dieser dieses doch dort du durch ein eine einem
einen einer eines er es etwas euch euer für gegen gibt hab habe haben hat hatte hatten hier hinter
ich ihm ihn ihnen ihr ihre ihrem ihren ihrer im in ins ist ja jede jeder jedes jetzt kann kein
keine keinem keinen können könnte man mein meine mich mir mit muss müssen nach nicht nichts noch
nun nur ob oder ohne sehr sein seine seinem seinen seiner sich sie sind so soll sollte sondern
über um und uns unser unsere unter viel vom von vor wann war waren warum was weil welche welchem
welchen welcher welches wenn wer werde werden wessen wem wen wie wieder wieviel wir wird wo wohin
woher womit wurde wurden zu zum zur zwischen
""",
    "fr": """
a à ai au aussi autre aux avait avant avec avez avoir avons c ce cela celle celui ces cet cette
ceux chez comme comment d dans de des donc dont du elle elles en encore entre es est et étaient
était étant être eu eux fait furent fut il ils j je l la le les leur leurs lors lui m ma mais me
même mes moi mon n ne ni nos notre nous on ont ou où par pas pendant plus pour pourquoi qu quand
que quel quelle quelles quels qui quoi s sa sans se selon ses si soit son sont sous sur t ta te
tes toi ton tous tout toute toutes très tu un une vers vos votre vous y combien est-ce
""",
    "es": """
a al algo algunos ante antes aquel aquella así aún aunque cada como cómo con contra cual cuál
cuáles cualquier cuando cuándo cuanto cuánto cuántos cuántas de del desde donde dónde dos durante
e el él ella ellas ellos en entre era eran es esa ese eso esos esta está estaba están estas este
esto estos fue fueron ha había han hasta hay la las le les lo los más me mi mientras mis muy nada
ni no nos nosotros nuestra nuestro o os otra otro otros para pero poco por porque pues qué que
quien quién quiénes se sea según ser será si sí sido sin sobre son su sus también tan tanto te
tiene tienen todo todos tu tus tú un una unas uno unos y ya yo
""",
    "pt": """
a ao aos às aquela aquele as até com como da das de dela dele deles depois do dos e é ela elas ele
eles em entre era eram essa esse esta está estão este eu foi foram há isso isto já lhe mais mas me
mesmo meu meus minha muito na não nas nem no nos nós nossa nosso num numa o os ou para pela pelas
pelo pelos por porque qual quais quando quanto quantos quem que são se seja sem ser será seu seus
só sua suas também te tem têm um uma você vocês onde
""",
    "it": """
a abbiamo ad agli ai al alla alle allo anche avere aveva c che chi ci come con contro cosa cui d
da dagli dai dal dalla dalle dallo degli dei del della delle dello di dove e è ed era erano essere
fra gli ha hai hanno ho i il in io l la le lei li lo loro lui ma mi mia mio ne negli nei nel nella
nelle nello noi non nostra nostro o ogni per perché più poi quale quali quando quanto quanta
quanti quante quella quelle quelli quello questa queste questi questo se sei si sia siamo sono sta
su sua sue sugli sui sul sulla sulle suo suoi tra tu tutti tutto un una uno voi
""",
    "nl": """
aan al alles als altijd andere ben bij daar dan dat de der deze die dit doch doen door dus een
eens en er ge geen geweest haar had heb hebben heeft hem het hier hij hoe hoeveel hun iemand iets
ik in is ja je kan kon kunnen maar me meer men met mij mijn moet na naar niet niets nog nu of om
omdat onder ons ook op over reeds te tegen toch toen tot u uit uw van veel voor waar waarom
wanneer want waren was wat welke werd wezen wie wij wil worden wordt zal ze zelf zich zij zijn zo
zonder zou
""",
    "sv": """
alla allt att av blev bli blir bara de dem den denna deras dess dessa det detta dig din dina ditt
du där då efter ej eller en er ett från för göra ha hade han hans har henne hennes hon honom hur
här i icke inte jag kan kunde man med mellan men mig min mina mitt mot mycket ni nu när någon
något några och om oss på sedan sig sin sina sitt ska skulle som så till under upp ut utan vad var
vara varför vart vem vi vid vilka vilken vilket är än åt över
""",
    "da": """
af alle alt at blev bliver da de dem den denne der deres det dette dig din dine disse du efter
eller en end er et for fra få har havde han hans hende hendes her hos hun hvad hvem hvilke hvilken
hvor hvorfor hvordan hvornår hvis i ikke ind ja jeg jer kan kunne man mange med meget men mig min
mine mit mod må ned noget nogle nu når og også om op os over på selv sig sin sine sit skal skulle
som sådan til ud under var ved vi vil ville være været
""",
    "no": """
alle at av bare ble bli blir da de deg dei den denne der dere deres det dette di din disse du eg
eller en enn er et ett etter for fordi fra før ha hadde han hans har henne hennes her hun hva hvem
hver hvilken hvilke hvis hvor hvordan hvorfor i ikke inn ja jeg kan kom kunne man mange med meg
mer mellom men min mot mye må noe noen nå når og også om opp oss over på seg selv sin sitt skal
skulle slik som så til under ut uten var ved vi vil ville være vært
""",
    "fi": """
ei eivät eli en että he hän häntä ja joka jonka jotka joita jossa jos kanssa keitä ketkä kuin
kuinka kuka kun me mihin mikä miksi millä millainen milloin minä minkä missä mistä mitkä mitä
mukaan mutta myös ne niiden niin niitä noin nuo nyt oli olla olen olet olemme olivat ollut on ovat
se sekä sen siellä siinä sitä sinä tai te tuo tämä tämän tässä vaan vai vaikka voi ole
""",
    "hu": """
a abban ahhoz ahogy ahol aki akik akkor alatt amely amelyek ami amikor arra az azok azon azt azzal
be csak de e egy egyik el ellen előtt en és ez ezek ezt fel hány hanem hogy hogyan hol honnan hová
igen így ilyen is itt ki kik kell lehet lett lesz maga már még meg mely melyik mert mi miért mikor
mint minden mit milyen mivel most nagyon ne nem o ő ők össze pedig sem sok szerint talán te után
vagy van vannak volt voltak
""",
    "ro": """
a acea această aceasta acest acesta ai al ale am ar are as asupra au avea ca că care ce cea cei
cel cele când cât câți câte cine cu cum da dacă dar de decât deci despre din după e ea ei el ele
era este eu fi fie fost iar în între îi îl își la le lor lui mai mult ne nici nu o or pe pentru
prin sa să sale sau se și sunt te toate tot toți tu un una unde unei unor unui va vor
""",
    "tr": """
acaba ama aslında az bana bazı belki ben beni benim bir biri birçok biz bu bunu bunun burada çok
çünkü da daha de defa değil diye en gibi göre hangi hani hem hep her hiç için ile ise kadar kaç ki
kim kime kimin mi mı mu mü nasıl ne neden nerede nereye nedir zaman niçin niye o olan olarak oldu
olduğu onlar onu onun sadece sanki siz sonra şey şu tarafından ve veya ya yani
""",
    "pl": """
a aby ale bardzo bez bo być był była było były by byli co czy czyli dla do gdy gdzie go i ich ile
im inne iż ja jak jaka jaki jakie jako je jeden jego jej jest jestem jeśli już każdy kiedy kogo
kto która które którego której który których którzy ma mają mi może na nad nam nas nie niego nich
nim niż o od oraz po pod poza przed przez przy są się skąd swoje ta tak także tam te tego tej ten
też to tu ty tych tylko tym u w we więc wszystko z za ze że żeby dlaczego
""",
    "cs": """
a aby ale ani ano až bez být bude by byl byla byli bylo co což či do ho i já jak jaký jaká jaké
jako je jeho jej její jejich jen jestli ještě již jsem jsi jsme jsou jste k kam kde kdo kdy kdyby
když ke která které který kteří kolik ma mezi mi mít mně mu na nad nám ne nebo není než nic o od
on ona oni pak po pod podle pokud pro proč proto před při s se si tak také tam ten tento to tohle
toho tom tu ty u už v ve však vy z za že
""",
    "ca": """
a al als amb aquest aquesta aquests això com d de del dels des es el ella ells els en entre era és
està fins fou ha han hi i l la les li no o on per perquè però què quan quant quants quin quina
quins que qui se seva seu si són sobre també un una unes uns va van més
""",
    "id": """
ada adalah agar akan aku anda antara apa apakah atau bagaimana bahwa bagi banyak berapa bisa bukan
dalam dan dapat dari dengan di dia hanya hari hingga ia ini itu jika juga kami kamu kapan karena
ke kepada ketika kita lebih mana masih maupun mereka mengapa namun oleh pada para saat saja sangat
sebagai sebuah secara sejak seperti serta siapa sudah suatu tahun telah tentang terhadap tersebut
tetapi tidak untuk yaitu yang
""",
    "vi": """
bao bị bởi các cách cái cho chỉ có của cùng cũng do đã đang đâu đây để đến đi đó được gì hay họ
khi không là lại lên mà mình mỗi một này nào năm nên nếu người nhiều như những nhưng ở ra rằng rất
sau sẽ tại thế thì theo trên trong trước từ tôi và vào vẫn vì việc với vậy sao ai nhiêu
""",
    "et": """
aga ei et ja ka kas kes kui kuidas kus ma me mida millal mille mis miks mitu nad nagu need ning
oli olid olla on oma see seda selle siis ta te tema ühe või välja üks pole
""",
    "lt": """
ar aš bet bei buvo būti dėl ir iš į jis ji jie jo jos jų kad kai kaip kas kiek kodėl kokia koks
kol kur kuri kuris kurie mes ne nei nuo o per po prie su tai taip tas tik tu už yra kada
""",
    "ru": """
а без более бы был была были было быть в вам вас весь во вот все всего всех вы где да даже для до
его ее её если есть еще ещё же за здесь и из или им их к каждый как какая какие каким какими каких
какого какое какой каком какую ко когда кого кем кому которая которого которое которой котором
которые который которых кто куда ли лишь между меня мне много мной может можно мой мы на над надо
нам нас не него нее неё нет ни них но ну о об один одна он она они оно от откуда перед по под
после потому почему при про с сам свои своего своей своих себя со собой сколько так такая также
такие такое такой там тем теперь то того тоже той только том ты тут у уже чего чей чем чему через
что чтобы чье чьё эта эти этих это этого этой этом этот эту я является
""",
    "uk": """
а або але б без би був була були було бути в вже ви вона вони воно він від для до є з за зі й його
її із їх і коли кого котрий ми має на над не ні них о один по під після при про та так також те ти
то того тому у що щоб це цей ця цього як яка яке який яких якого якій які якому хто чи чому
скільки де куди я
""",
    "bg": """
а ако без беше бил била били в във все го да дали до за защо и из им има кога което които който
която как какво какъв къде кой коя колко ли ме между ми много на над не него ни но от по под при с
са само се си след със също така те ти това той тази този тя тях че ще я
""",
    "sr": """
а али био била били било бити да до за и из или је јер када како кад које који која колико ко где
на не него ни о од он она они по под са се су та тај то у шта што због
""",
    "el": """
αλλά αν από αυτά αυτές αυτή αυτό αυτός αυτών για γιατί δε δεν εάν είναι είχε είχαν εκεί ένα έναν
ένας έχει έχουν ή ήταν η θα και κατά κάθε με μέσα μετά μη μην μια μία μόνο να ο οι όπου όπως όταν
ότι όχι πιο ποια ποιά ποιες ποιο ποιοι ποιον ποιος ποιό ποιός ποιού πολύ πόσα πόσες πόση πόσο
πόσοι πότε που πού πρέπει πριν προς πώς πως σαν σε στα στη στην στις στο στον στους στων τα τη την
της τι τις το τον του τους των ως
""",
    "ar": """
أ أو أي أين أن إن إلى إذا التي الذي الذين اللذان ألا أما أنا أنت أنه أنها أيضا بعد بعض بها به بين
تلك تم ثم حتى حول حيث حين خلال دون ذلك رغم عن عند على عليه عليها عام غير ف فى في فيه فيها قبل قد
كان كانت كل كم كما كيف لا لأن لدى لقد لكن لم لما لماذا لن له لها لهم ليس ما ماذا مثل متى مع من منذ
منها منه هذا هذه هل هم هناك هنا هو هي و وقد وكان ولا ولم وما ومن وهو وهي يكون يمكن
""",
    "fa": """
از است اگر اما این آن آنها با باید بر برای بعد بود بودند به بی پس پیش تا تر ترین تو چرا چند چه
چگونه چقدر چیست خود خواهد دارد دارند در را رو ها هر هم همه هیچ و ولی وقتی یا یک شد شده شود کجا
کدام کرد کرده کند کنید که کسی کی ما من می نیز نمی هستند هست
""",
    "he": """
אבל או אולי אותה אותו אותם אז אחר אחרי אחת איזה איזו אילו איך אין איפה אך אל אם אנחנו אני אף אשר
את אתה אתם באיזה באיזו בין בה בו בגלל בעוד גם דרך הוא היא היה היו הם הן הזה הזאת זאת זה זו יש כאשר
כי כך כל כמה כמו כן לא לאחר לאן לו לה להם למה לפי לפני מאד מאוד מאיפה מדוע מה מי מן מתי נגד על עד
עם עוד עצמו פה רק של שלה שלהם שלו שם תוך תחת
""",
    "hi": """
अगर अपना अपनी अपने आदि आप इन इस इसका इसकी इसके इसमें इसी उन उनका उनकी उनके उन्हें उन्होंने उस उसका
उसकी उसके उसने उसे एक एवं और कब कर करता करते करना करने कहाँ कहां का कारण कि कितना कितनी कितने किया
किस किसका किसकी किसके किसने किसी किसे की कुछ के को कोई कौन कौनसा कौनसी क्या क्यों गई गए गया जब
जहाँ जहां जा जाता जाती जाते जाने जैसे जो जिस जिसे तक तब तो था थी थे दिया दो द्वारा नहीं ने पर फिर
बहुत भी मैं में यह यहाँ यहां या ये रहा रही रहे लिए लेकिन वह वे सकता सकते सकती सब साथ से हम ही हुआ
हुई हुए है हैं हो होता होती होते होने वाले वाली वाला
""",
    "ne": """
छ छन् थियो र को मा लाई ले बाट हो हुन् यो त्यो पनि गर्न गरेको भएको कहाँ कति किन कुन के
""",
    "bn": """
এই এবং এর একটি একটা কি কী কে কেন কখন কোথায় কোন কত কার ও করে করা করেন ছিল জন্য থেকে তার তিনি না
নয় পর মধ্যে যে যা সঙ্গে সাথে সে হয় হয়ে হয়েছিল হতে আর তা
""",
    "ta": """
ஒரு என்று மற்றும் இந்த அந்த என்ன எங்கே எப்போது யார் எது எத்தனை உள்ள இருந்து அது இது எப்படி ஏன்
""",
    "ko": """
그 그리고 그는 것 것은 것이 나는 누가 누구 누구의 는 다음 대한 대해 때 또는 및 몇 무엇 무엇을
무엇인가 무엇인가요 무슨 수 어디 어디에 어디에서 어떤 어떻게 언제 얼마나 에 에서 왜 은 을 이 있는
중 하는 한 합니까 있습니까 입니까 인가요
""",
    "hy": """
և ու է են էր որ որը այն այս մի թե ինչ ինչպես որտեղ երբ ով ինչու քանի համար հետ մեջ
""",
    "eu": """
da eta ez du dira zen zuten baina bat hau hori zer nola non noiz nor zergatik zenbat ere edo
""",
    "ga": """
agus an ar as bhí cad cé conas do go i is le na ní níl nó seo sin tá cathain cén cá fhad
""",
}


@cache
def stop_words(language: str) -> frozenset[str]:
    """The words of a language that say nothing in a query; none of a language without a list."""
    if language == "en":
        return ENGLISH.union(_ENGLISH_IN_QUERIES.split())
    return frozenset(_OTHERS.get(language, "").split())


def listed_languages() -> tuple[str, ...]:
    return ("en", *_OTHERS)
