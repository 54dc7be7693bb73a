use super::*;
use crate::judge::analysis::testing::line;
use crate::judge::analysis::testing::world::SampleWorld;

const PROJECT: &str = "/home/dev/project";

/// A line in the project that has not done anything yet.
#[derive(Default)]
struct Line {
    sinks: Vec<Sink>,
    files: FileModel,
    acts: Vec<Act>,
}

impl Line {
    fn wrote(&mut self, path: &str, text: &Value) -> SinkId {
        let sink = self.files.open(&mut self.sinks, Place::of(path), false, false);
        self.sinks[sink].write(text, Taint::default(), false);
        sink
    }

    fn asked<R>(&self, world: &SampleWorld<'_>, test: impl FnOnce(WalkProgress<'_, '_>, &State) -> R) -> R {
        let state = State::at(Some(Place::of(PROJECT)));
        world.given(&line(""), |input| {
            let Self { sinks, files, acts } = self;
            test(WalkProgress { input: &input, acts, sinks, files, pipes: &[] }, &state)
        })
    }
}

fn text(text: &str) -> Value {
    Value::text(text)
}

#[test]
fn standard_input_is_what_its_stream_holds() {
    let mut line = Line::default();
    let sink = line.wrote(&format!("{PROJECT}/a"), &text("x"));
    let input = |line: &Line, stream: Stream| {
        line.asked(&SampleWorld::default(), |progress, state| {
            let mut state = state.clone();
            state.streams.stdin = stream;
            let (text, taint, _) = progress.stdin_of(&state);
            (text.known_text(), taint)
        })
    };
    let file = |path: &str| {
        let span = crate::judge::syntax::tree::Span::default();
        Stream::File(std::rc::Rc::new(Operand { value: text(path), span }), None)
    };
    assert_eq!(input(&line, Stream::Nothing), (Some(String::new()), Taint::default()));
    assert_eq!(input(&line, Stream::Inherited), (None, Taint::FOREIGN));
    assert_eq!(input(&line, Stream::Sink(sink, super::super::act::Output::Pipe)).0, Some("x".into()));
    assert_eq!(input(&line, file("a")), (Some("x".into()), Taint::default()));
    assert_eq!(input(&line, file("/home/dev/.ssh/id_rsa")), (None, Taint::SECRET));
    assert_eq!(input(&line, file("b")), (None, Taint::default()));
}

#[test]
fn a_file_holds_what_the_line_wrote_and_what_of_a_secret_went_there() {
    let mut line = Line::default();
    line.wrote(&format!("{PROJECT}/a"), &text("x"));
    line.wrote(&format!("{PROJECT}/s"), &unknown(UnknownReason::CommandOutput, Taint::SECRET));
    line.files.copy(Place::of("/home/dev/.ssh/id_rsa"), Place::of(format!("{PROJECT}/k")), false);
    line.asked(&SampleWorld::default(), |progress, state| {
        assert_eq!(progress.content_of(state, &text("a")).and_then(|text| text.known_text()), Some("x".into()));
        assert_eq!(progress.content_of(state, &text("b")), None);
        let holds = |path: &str| progress.holds_secret(state, &text(path));
        assert!(holds("s") && holds("@s") && holds("x=@s") && holds("k"));
        assert!(!holds("a") && !holds("b"));
    });
}

#[test]
fn what_the_line_brought_is_made_here() {
    let mut line = Line::default();
    line.wrote(&format!("{PROJECT}/bin/a"), &text("x"));
    line.wrote("/srv/f", &unknown(UnknownReason::CommandOutput, Taint::FETCHED));
    line.files.links.insert(Place::of("/srv/l"), Place::of("/bin/rm"));
    line.asked(&SampleWorld::default(), |progress, state| {
        let made = |path: &str| progress.is_made_here(state, &text(path));
        assert!(made("bin/a") && made("/srv/f") && made("/srv/f/below") && made("/srv/l"));
        assert!(!made("bin") && !made("/srv"));
        let may = |dir: &str| progress.may_make_in(dir);
        assert!(may(&format!("{PROJECT}/bin")) && may(PROJECT) && may("/srv") && !may("/usr/bin"));
        assert!(progress.is_fetched(&Place::of("/srv/f")) && !progress.is_fetched(&Place::of("/srv/l")));
    });
}

#[test]
fn a_file_is_absent_where_neither_the_world_nor_the_line_has_it() {
    let mut line = Line::default();
    line.wrote(&format!("{PROJECT}/made"), &text("x"));
    line.asked(&SampleWorld { files: &[("there", "x")], ..SampleWorld::default() }, |progress, state| {
        let absent = |path: &str| progress.is_absent(state, &text(path));
        assert!(absent("gone") && !absent("there") && !absent("made"));
        assert!(progress.are_read(&[format!("{PROJECT}/there")]));
        assert!(!progress.are_read(&[format!("{PROJECT}/there"), format!("{PROJECT}/gone")]));
    });
}

#[test]
fn the_last_link_on_the_way_says_where_a_path_leads() {
    let mut line = Line::default();
    line.files.links.insert(Place::of(format!("{PROJECT}/h")), Place::of("/home/dev"));
    line.asked(&SampleWorld::default(), |progress, state| {
        let behind =
            |path: &str| progress.behind(state, &text(path)).map(|(path, own)| (path.rough().into_owned(), own));
        assert_eq!(behind("h/.bashrc"), Some(("/home/dev/.bashrc".into(), false)));
        assert_eq!(behind("h"), Some(("/home/dev".into(), true)));
        assert_eq!(behind("x/h"), None);
        assert!(progress.is_secret(state, &text("h/.ssh/id_rsa")));
    });
}
