//! The words of synthetic text. Frequent ones come first: choices follow Zipf's law by place in a list.

/// A subject that a document keeps to.
pub(super) struct Topic {
    /// Singular.
    pub(super) nouns: &'static str,
    /// Regular verbs, as infinitives.
    pub(super) verbs: &'static str,
    /// Adjectives.
    pub(super) adjectives: &'static str,
    /// What its people do.
    pub(super) trades: &'static str,
}

pub(super) const TOPICS: [Topic; 14] = [
    Topic {
        nouns: "war battle army king empire treaty castle soldier fortress kingdom siege queen revolt border alliance duke throne crown knight uprising invasion garrison dynasty monarchy regiment province campaign conquest emperor cavalry rebel massacre truce",
        verbs: "attack defend conquer rule invade capture surrender retreat march destroy occupy defeat besiege command betray crown exile",
        adjectives: "royal military ancient medieval imperial brutal decisive loyal victorious bloody feudal noble hostile colonial",
        trades: "king general soldier emperor commander knight rebel colonel",
    },
    Topic {
        nouns: "theory experiment particle atom scientist energy planet star laboratory equation molecule galaxy measurement discovery telescope wave electron proof nucleus crystal orbit comet spectrum hypothesis reaction isotope microscope formula satellite vacuum laser proton theorem",
        verbs: "measure observe predict prove calculate detect confirm publish analyze explain discover simulate propose estimate examine verify",
        adjectives: "scientific nuclear electric theoretical magnetic experimental precise quantum chemical thermal cosmic linear atomic invisible",
        trades: "physicist chemist astronomer mathematician professor researcher scientist",
    },
    Topic {
        nouns: "team season game player league match goal coach club champion stadium final tournament record medal race trophy referee score title division fan captain penalty injury transfer goalkeeper striker defender championship draft athlete sprint",
        verbs: "play score coach finish compete dribble train defeat qualify join kick injure celebrate pass sign tackle",
        adjectives: "professional olympic athletic national unbeaten defensive offensive amateur fast annual talented consecutive injured",
        trades: "player coach striker goalkeeper runner swimmer boxer captain",
    },
    Topic {
        nouns: "river city town mountain village lake island valley district coast road bridge county forest harbor hill suburb region peninsula glacier desert plain airport railway station canal bay cliff plateau settlement municipality stream port",
        verbs: "cross border surround connect reach enter contain flow settle cover divide extend drain overlook populate",
        adjectives: "northern southern eastern western rural coastal urban central remote mountainous populated narrow shallow administrative",
        trades: "mayor farmer fisherman surveyor settler explorer sailor",
    },
    Topic {
        nouns: "song album band singer concert guitar record orchestra single melody lyric tour symphony piano drum chorus studio opera violin composer festival rhythm producer audience choir trumpet ballad recording label microphone sonata verse quartet",
        verbs: "record perform release compose produce tour listen rehearse conduct dance remix feature debut mix applaud",
        adjectives: "musical acoustic popular classical live electronic vocal melodic loud rhythmic harmonic orchestral experimental",
        trades: "singer composer guitarist drummer pianist producer conductor violinist",
    },
    Topic {
        nouns: "film actor director movie scene role story script camera character novel award actress studio theater play critic episode screen plot series comedy drama premiere documentary trailer sequel cast writer screenplay audience book poem",
        verbs: "direct praise release film narrate adapt portray review premiere appear describe edit rehearse imagine publish",
        adjectives: "dramatic comic romantic fictional animated silent cinematic literary tragic original famous controversial emotional",
        trades: "actor director writer novelist poet critic screenwriter actress",
    },
    Topic {
        nouns: "company market bank product price factory worker industry customer share store merger contract brand employee profit loan manager investor shareholder trade stock tax union salary debt supplier warehouse retailer budget invoice subsidiary owner",
        verbs: "produce invest acquire merge manage export import employ launch finance deliver purchase expand owe market supply",
        adjectives: "commercial industrial financial economic profitable private corporate global expensive cheap annual bankrupt foreign",
        trades: "manager banker owner investor merchant accountant founder",
    },
    Topic {
        nouns: "government party law election president minister court vote state policy parliament senator judge campaign council constitution reform candidate committee bill treaty right protest mayor embassy crisis citizen congress lawyer coalition ballot tribunal verdict",
        verbs: "vote support oppose propose reform appoint sign resign approve reject argue declare debate protest negotiate elect",
        adjectives: "political federal legal democratic public liberal conservative constitutional independent corrupt local illegal diplomatic",
        trades: "president minister senator judge lawyer governor diplomat activist",
    },
    Topic {
        nouns: "species bird plant tree animal flower fish insect habitat seed leaf nest forest butterfly frog snake predator mammal wing beetle shark root feather egg reptile whale spider fern herd moth owl larva swamp",
        verbs: "hunt feed inhabit migrate resemble consume nest bloom pollinate hatch climb protect hide endanger graze",
        adjectives: "wild tropical rare native endangered nocturnal small green aquatic poisonous yellow brown striped edible",
        trades: "botanist biologist hunter gardener ranger zoologist",
    },
    Topic {
        nouns: "computer system network machine program user engine device software processor screen code server memory version file robot battery signal keyboard algorithm circuit sensor phone browser database interface protocol chip password printer radio antenna",
        verbs: "install design develop connect compute store process update repair test replace upgrade encrypt download operate display",
        adjectives: "digital technical modern automatic wireless portable electronic reliable mobile obsolete compatible secure virtual",
        trades: "engineer programmer inventor designer technician developer",
    },
    Topic {
        nouns: "recipe dish restaurant bread cheese soup chef meal kitchen sauce wine fruit vegetable cake rice bean oven spice breakfast dinner salad tomato potato onion apple butter pepper noodle dessert bakery lemon tea cup",
        verbs: "cook serve taste bake boil roast mix prepare season pour order peel eat fry smell",
        adjectives: "sweet fresh delicious salty hot spicy sour traditional creamy bitter frozen ripe crisp",
        trades: "chef baker waiter cook farmer butcher brewer",
    },
    Topic {
        nouns: "patient doctor disease hospital drug treatment symptom nurse vaccine cell infection surgery virus clinic blood medicine heart pain brain therapy muscle bone diagnosis lung fever dose surgeon tumor bacterium wound organ gene allergy",
        verbs: "treat infect diagnose prescribe cure recover examine suffer inject reduce prevent damage test monitor transplant",
        adjectives: "medical clinical chronic severe infected healthy genetic surgical acute mental fatal contagious painful",
        trades: "doctor nurse surgeon dentist pharmacist psychologist",
    },
    Topic {
        nouns: "church temple priest saint bishop monastery prayer god ritual cathedral monk faith bible chapel pope shrine mosque hymn altar ceremony miracle prophet pilgrim sermon tomb parish abbey disciple heaven soul relic nun",
        verbs: "pray worship preach bless baptize convert believe consecrate restore honor establish confess ordain dedicate",
        adjectives: "religious holy sacred catholic orthodox divine spiritual eternal ancient devout secular monastic",
        trades: "priest bishop monk preacher missionary pope abbot",
    },
    Topic {
        nouns: "school student university teacher class college course degree library exam lesson subject education campus classroom scholarship lecture essay faculty graduate pupil textbook diploma curriculum thesis kindergarten dormitory semester seminar tutor grade principal",
        verbs: "study teach learn attend graduate educate enroll lecture pass fail research instruct memorize translate",
        adjectives: "academic educational primary secondary intellectual bilingual brilliant lazy gifted free compulsory higher",
        trades: "teacher student professor principal librarian tutor scholar",
    },
];

/// Nouns of any text.
pub(super) const NOUNS: &str = "year time day name part group number place house family world life line area member word case side child friend week month way home hand point problem idea result reason change form event history letter question answer garden window door picture story street building night morning effort decision report plan image piece cause level type example";
/// Regular verbs of any text.
pub(super) const VERBS: &str = "use call move work start want help change visit turn live open close name follow show ask remain receive return create include offer continue consider mention need serve share accept discuss remember watch carry finish answer arrive die marry travel refuse";
/// Adjectives of any text.
pub(super) const ADJECTIVES: &str = "new large first old small long great other early high good important young short late main major famous strong simple common real different special quiet similar beautiful dark heavy open whole bright difficult sudden clear former dangerous unusual final second third";
/// Infinitive, third person, past, participle.
pub(super) const IRREGULAR: [[&str; 4]; 28] = [
    ["have", "has", "had", "had"],
    ["make", "makes", "made", "made"],
    ["take", "takes", "took", "taken"],
    ["become", "becomes", "became", "become"],
    ["find", "finds", "found", "found"],
    ["give", "gives", "gave", "given"],
    ["hold", "holds", "held", "held"],
    ["lead", "leads", "led", "led"],
    ["build", "builds", "built", "built"],
    ["write", "writes", "wrote", "written"],
    ["win", "wins", "won", "won"],
    ["lose", "loses", "lost", "lost"],
    ["leave", "leaves", "left", "left"],
    ["keep", "keeps", "kept", "kept"],
    ["bring", "brings", "brought", "brought"],
    ["see", "sees", "saw", "seen"],
    ["know", "knows", "knew", "known"],
    ["meet", "meets", "met", "met"],
    ["begin", "begins", "began", "begun"],
    ["sell", "sells", "sold", "sold"],
    ["buy", "buys", "bought", "bought"],
    ["send", "sends", "sent", "sent"],
    ["draw", "draws", "drew", "drawn"],
    ["break", "breaks", "broke", "broken"],
    ["choose", "chooses", "chose", "chosen"],
    ["teach", "teaches", "taught", "taught"],
    ["drive", "drives", "drove", "driven"],
    ["steal", "steals", "stole", "stolen"],
];
/// Plurals that no rule gives.
pub(super) const PLURALS: [(&str, &str); 16] = [
    ("child", "children"),
    ("life", "lives"),
    ("species", "species"),
    ("fish", "fish"),
    ("leaf", "leaves"),
    ("series", "series"),
    ("hypothesis", "hypotheses"),
    ("crisis", "crises"),
    ("diagnosis", "diagnoses"),
    ("thesis", "theses"),
    ("nucleus", "nuclei"),
    ("larva", "larvae"),
    ("bacterium", "bacteria"),
    ("potato", "potatoes"),
    ("tomato", "tomatoes"),
    ("fisherman", "fishermen"),
];
/// How, in front of a verb.
pub(super) const ADVERBS: &str = "also often later finally usually never quickly soon always slowly rarely sometimes nearly once quietly eventually officially suddenly mostly widely again probably openly";
/// Sentences start with one of these now and then.
pub(super) const OPENINGS: &str = "however then today afterwards meanwhile later instead therefore originally surprisingly fortunately besides";
/// Where.
pub(super) const PREPOSITIONS: &str =
    "in of near from behind under during after before against without between over around";
/// Names of women and of men.
pub(super) const WOMEN: &str = "mary anna elizabeth sarah maria helen alice ruth clara emma julia laura nina rosa irene martha diana grace olga sophie ingrid leila yuki amara priya carmen edith flora";
pub(super) const MEN: &str = "john william james george charles robert thomas henry david peter paul edward carl frank arthur louis walter albert hugo ivan omar kenji diego stefan patrick oscar felix martin samuel victor";
/// Family names.
pub(super) const FAMILIES: &str = "smith johnson brown miller wilson taylor anderson moore clark lewis walker hall young king wright baker green adams nelson carter mitchell turner parker collins morris rogers cook morgan bell murphy bailey cooper richardson cox howard ward peterson gray watson brooks kelly sanders price bennett wood barnes ross henderson coleman jenkins perry powell patterson hughes fischer weber novak rossi silva tanaka kim nguyen singh ali lopez garcia ivanov larsen";
/// Places.
pub(super) const PLACES: &str = "london england france germany paris america europe rome china japan india russia canada spain italy scotland boston chicago texas berlin vienna australia california ireland mexico brazil egypt africa greece sweden norway poland turkey prague madrid lisbon dublin oxford cambridge venice tokyo moscow hungary denmark finland portugal chile peru cuba florida virginia ohio georgia oregon kansas nebraska manchester liverpool york hamburg munich naples milan seville cairo delhi bombay sydney toronto montreal quebec istanbul athens budapest warsaw oslo stockholm helsinki";
/// Months.
pub(super) const MONTHS: &str =
    "january february march april may june july august september october november december";
/// What is counted and measured.
pub(super) const UNITS: &str = "people years kilometers members soldiers pounds meters houses students tons miles copies voters families hours workers dollars pages";
