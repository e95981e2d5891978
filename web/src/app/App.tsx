import { QueryClientProvider } from "@tanstack/react-query";
import { Component, type ErrorInfo, lazy, type ReactNode, Suspense } from "react";
import { Link, Route, Switch, useLocation } from "wouter";
import { Empty, Trouble, Waiting } from "../ui/parts";
import { cache } from "./live";
import { SignedIn } from "./session";
import { Shell } from "./Shell";

// Each page is loaded when it is first opened.
const Network = lazy(() => import("../pages/Network"));
const Market = lazy(() => import("../pages/Market"));
const Cases = lazy(() => import("../pages/Cases"));
const Catalogue = lazy(() => import("../pages/Catalogue"));
const Template = lazy(() => import("../pages/Template"));
const Publish = lazy(() => import("../pages/Publish"));
const SignIn = lazy(() => import("../pages/SignIn"));
const SignUp = lazy(() => import("../pages/SignUp"));
const Welcome = lazy(() => import("../pages/Welcome"));
const Jobs = lazy(() => import("../pages/Jobs"));
const NewJob = lazy(() => import("../pages/NewJob"));
const Job = lazy(() => import("../pages/Job"));
const Files = lazy(() => import("../pages/Files"));
const Wallet = lazy(() => import("../pages/Wallet"));
const Machines = lazy(() => import("../pages/Machines"));
const Machine = lazy(() => import("../pages/Machine"));
const Earnings = lazy(() => import("../pages/Earnings"));
const Stake = lazy(() => import("../pages/Stake"));
const Account = lazy(() => import("../pages/Account"));

function Routes() {
  return (
    <Switch>
      <Route path="/" component={Network} />
      <Route path="/market" component={Market} />
      <Route path="/cases" component={Cases} />
      <Route path="/catalogue" component={Catalogue} />
      <Route path="/catalogue/publish">{() => <SignedIn>{() => <Publish />}</SignedIn>}</Route>
      <Route path="/catalogue/:name">{({ name }) => <Template name={decodeURIComponent(name)} />}</Route>
      <Route path="/sign-in" component={SignIn} />
      <Route path="/sign-up" component={SignUp} />
      <Route path="/welcome" component={Welcome} />
      <Route path="/jobs">{() => <SignedIn>{() => <Jobs />}</SignedIn>}</Route>
      <Route path="/jobs/new">{() => <SignedIn>{() => <NewJob />}</SignedIn>}</Route>
      <Route path="/jobs/:id/:tab?">{({ id, tab }) => <SignedIn>{() => <Job id={Number(id)} tab={tab ?? "overview"} />}</SignedIn>}</Route>
      <Route path="/files">{() => <SignedIn>{() => <Files />}</SignedIn>}</Route>
      <Route path="/wallet">{() => <SignedIn>{() => <Wallet />}</SignedIn>}</Route>
      <Route path="/machines">{() => <SignedIn>{() => <Machines />}</SignedIn>}</Route>
      <Route path="/machines/:id">{({ id }) => <SignedIn>{() => <Machine id={Number(id)} />}</SignedIn>}</Route>
      <Route path="/earnings">{() => <SignedIn>{() => <Earnings />}</SignedIn>}</Route>
      <Route path="/stake">{() => <SignedIn>{() => <Stake />}</SignedIn>}</Route>
      <Route path="/account/:tab?">{({ tab }) => <SignedIn>{(session) => <Account session={session} tab={tab ?? "signing-in"} />}</SignedIn>}</Route>
      <Route>
        <h1 className="hidden">Not found</h1>
        <Empty title="There is no such page" action={<Link href="/">To the network</Link>}>
          The address may be misspelt, or the page may have moved.
        </Empty>
      </Route>
    </Switch>
  );
}

/** A page that breaks says so, and leaves the others alone. */
class Boundary extends Component<{ path: string; children: ReactNode }, { error: unknown }> {
  override state = { error: null as unknown };

  static getDerivedStateFromError(error: unknown) {
    return { error };
  }

  override componentDidCatch(error: unknown, info: ErrorInfo) {
    console.error(error, info.componentStack);
  }

  override componentDidUpdate(before: { path: string }) {
    if (this.state.error && before.path !== this.props.path) this.setState({ error: null });
  }

  override render() {
    if (!this.state.error) return this.props.children;
    return <Trouble error={this.state.error} again={() => this.setState({ error: null })} />;
  }
}

export function App() {
  const [path] = useLocation();
  return (
    <QueryClientProvider client={cache}>
      <Shell>
        <Boundary path={path}>
          <Suspense fallback={<Waiting what="the page" lines={6} />}>
            <Routes />
          </Suspense>
        </Boundary>
      </Shell>
    </QueryClientProvider>
  );
}
