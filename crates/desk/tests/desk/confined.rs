//! Job files of strangers: every way to make the desk read what is not theirs.
use gleaner_client::data::{Account, Push};
use gleaner_client::{Client, Token};
use gleaner_wire::DataRef;
use serde_json::json;

use crate::place::{JOB, PROGRAM, Place};

/// A job that reads something beside its program.
fn reading(input: &str) -> String {
    format!("{JOB}[[task.input]]\nname = \"x\"\n{input}\n")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_file_reads_nothing_outside_the_accounts_files() {
    let place = Place::new().await;
    let (ada, bob) = (place.as_person("ada"), place.as_person("bob"));
    ada.put("/files/scene/program.wasm", PROGRAM).await.ok();
    bob.put("/files/secret/diary.txt", "dear diary").await.ok();
    let secret = place.files_of("secret");
    let (account, scene) = (secret.parent().expect("a folder").display().to_string(), place.files_of("scene"));
    let token = place.folder.path().join("hub/api.token");
    std::os::unix::fs::symlink(&token, scene.join("link")).expect("linked");
    std::os::unix::fs::symlink(secret.parent().expect("a folder"), scene.join("folder")).expect("linked");
    let up = "../".repeat(12);
    let tricks = [
        "file = \"/etc/passwd\"".to_owned(),
        format!("file = \"{}\"", token.display()),
        format!("file = \"{up}etc/passwd\""),
        "file = \"../../../../api.token\"".to_owned(),
        format!("folder = \"{account}/secret\""),
        "folder = \"..\"".to_owned(),
        "folder = \"../..\"".to_owned(),
        "folder = \"/\"".to_owned(),
        "file = \"link\"".to_owned(),
        "file = \"folder/secret/diary.txt\"".to_owned(),
        "folder = \"folder\"".to_owned(),
        "file = \"./../scene/../../x\"".to_owned(),
        "file = \"program.wasm/../../x\"".to_owned(),
    ];
    for (number, trick) in tricks.iter().enumerate() {
        let job = reading(trick);
        for folder in [Some("scene"), None] {
            let job =
                if folder.is_none() { job.replace("program.wasm\"", "scene/program.wasm\"") } else { job.clone() };
            let quoted = ada.post("/desk/quote", &json!({ "job": job, "folder": folder })).await;
            let detail = quoted.refused(422, "job-refused");
            assert!(
                !detail.contains(&place.folder.path().display().to_string()),
                "no path of the hub is told: {detail}"
            );
            ada.submit(&format!("{number}-{folder:?}"), &job, folder).await.refused(422, "job-refused");
        }
    }
    for program in ["/etc/passwd", "../../../../api.token", "link"] {
        let job = JOB.replace("program.wasm", program);
        ada.submit(program, &job, Some("scene")).await.refused(422, "job-refused");
    }
    let jobs = ada.get("/jobs").await.ok().json();
    assert_eq!(jobs["items"], json!([]), "none of them became a job");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_folder_is_one_of_the_accounts_own_by_its_plain_name() {
    let place = Place::new().await;
    let (ada, bob) = (place.as_person("ada"), place.as_person("bob"));
    bob.put("/files/scene/program.wasm", PROGRAM).await.ok();
    ada.put("/files/mine/program.wasm", PROGRAM).await.ok();
    for folder in ["scene", "none", "mine/deep", "program.wasm"] {
        ada.submit(folder, JOB, Some(folder)).await.refused(404, "not-found");
    }
    for folder in ["..", "../mine", "/", "", ".", "mine/.."] {
        ada.submit("k", JOB, Some(folder)).await.refused(400, "bad-request");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn mistakes_in_a_job_file_are_told_with_their_lines() {
    let place = Place::new().await;
    let ada = place.as_person("ada");
    ada.put("/files/scene/program.wasm", PROGRAM).await.ok();
    let answer = ada.submit("a", &JOB.replace("program.wasm", "none.wasm"), Some("scene")).await;
    assert!(answer.refused(422, "job-refused").contains("cannot read `none.wasm`"), "{}", answer.text());
    assert_eq!(answer.json()["line"], 5);
    let answer = ada.submit("b", "name = 7", Some("scene")).await;
    answer.refused(422, "job-refused");
    assert_eq!(answer.json()["line"], 1);
    let answer = ada.submit("c", &format!("{JOB}each = \"9..1\"\n"), Some("scene")).await;
    answer.refused(422, "job-refused");
    assert_eq!(answer.json()["line"], 6);
}

#[tokio::test(flavor = "multi_thread")]
async fn data_of_others_stays_theirs_by_name_and_by_reference() {
    let place = Place::new().await;
    let ada = place.as_person("ada");
    ada.put("/files/scene/program.wasm", PROGRAM).await.ok();
    // What somebody pushed with the program is sealed; what came by the hub's inbox the hub could open.
    let account = Account::open(&place.folder.path().join("bob")).expect("an account");
    let bob = Client::new(&place.url(), Token::new(place.token()), "bob").expect("an address").with_account(account);
    let films = place.folder.path().join("films");
    std::fs::create_dir(&films).expect("made");
    std::fs::write(films.join("film"), "a film").expect("written");
    let push = Push {
        account: bob.account().expect("has one"),
        hub: bob.data(),
        owner: "bob",
        name: Some("films"),
        checksum: false,
        steer: None,
        direct: false,
    };
    let sealed = push.run(&films, |_| {}).await.expect("pushed").data;
    ada.put("/inbox/bob/diary", "dear diary").await.ok();
    let ready = ada.wait_for("/inbox/bob/diary", |upload| upload["stage"] == "ready").await;
    let uploaded = serde_json::from_value::<DataRef>(ready["data"].clone()).expect("a reference");
    for (number, input) in [
        "dataset = \"films\"".to_owned(),
        "dataset = \"diary\"".to_owned(),
        format!("dataset = \"{sealed}\""),
        format!("dataset = \"{uploaded}\""),
        format!("folder = \"{sealed}\""),
        format!("folder = \"{uploaded}\""),
        format!("file = \"{uploaded}\""),
    ]
    .iter()
    .enumerate()
    {
        ada.submit(&number.to_string(), &reading(input), Some("scene")).await.refused(422, "job-refused");
    }
}
