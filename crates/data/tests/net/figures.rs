//! How fast it is here, printed for whoever runs the tests.
use gleaner_data::net::measure::loopback;

#[tokio::test(flavor = "multi_thread")]
async fn a_fetch_is_measured_beside_a_bare_stream_and_tcp() {
    let dir = tempfile::tempdir().unwrap();
    let figures = loopback(dir.path(), 128 << 20).await.unwrap();
    println!("MB/s on loopback, and MB for each second of a processor: {figures:#.0?}");
    assert!(figures.fetch.rate > 0.0);
}
