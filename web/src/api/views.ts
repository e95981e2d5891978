// What the hub says, by the names that the page uses. The types are generated from the hub's own description of its API.
import type { components } from "./schema";

type Schemas = components["schemas"];

/** Decimal GLN as text. */
export type Amount = Schemas["Amount"];
/** Milliseconds since 1970, or a span of them. */
export type Millis = Schemas["Millis"];
export type AttemptView = Schemas["AttemptView"];
export type AttemptsView = Schemas["AttemptsView"];
/** A provider that was found wrong, before the court of the chain. */
export type CaseView = Schemas["CaseView"];
export type Cause = Schemas["Cause"];
/** A result that somebody else computed differently. */
export type ContestView = Schemas["ContestView"];
export type DeviceKind = Schemas["DeviceKind"];
export type DeviceOffer = Schemas["DeviceOffer"];
export type ExplainView = Schemas["ExplainView"];
export type Extent = Schemas["Extent"];
export type FailureView = Schemas["FailureView"];
export type GroupView = Schemas["GroupView"];
export type Health = Schemas["Health"];
export type JobSummary = Schemas["JobSummary"];
export type JobView = Schemas["JobView"];
export type LogView = Schemas["LogView"];
export type PriceHistory = Schemas["PriceHistory"];
export type PriceView = Schemas["PriceView"];
export type ReasonView = Schemas["ReasonView"];
export type TallyView = Schemas["TallyView"];
export type TaskReceipt = Schemas["TaskReceipt"];
export type TestView = Schemas["TestView"];
export type Verdict = Schemas["ReceiptVerdict"];
export type WorkerState = Schemas["WorkerState"];
export type WorkerView = Schemas["WorkerView"];
export type WorkersPage = Schemas["WorkersPage"];

// The desk

export type DeskChoice = Schemas["DeskChoice"];
export type DeskQuote = Schemas["DeskQuote"];
export type DeskWallet = Schemas["DeskWallet"];
/** What was pushed, or is kept for jobs. Its name is sealed by who pushed it. */
export type DatasetView = Schemas["DatasetView"];
export type FileTree = Schemas["FileTree"];
export type Invoice = Schemas["Invoice"];
export type Ordered = Schemas["OrderedJob"];
/** A template that somebody wants to publish. */
export type Publication = Schemas["TemplatePublication"];
/** A picture that is put together out of tiles, as far as they have come. */
export type PictureItem = Schemas["PictureItem"];
export type Rendered = Schemas["RenderedJob"];
export type ResultItem = Schemas["ResultItem"];
export type ResultItems = Schemas["ResultItems"];
export type Submission = Schemas["WantedJob"];
export type TemplateInput = Schemas["TemplateInput"];
/** A form as the desk shows it: nothing is left out of an answer. */
export type TemplateForm = Required<Schemas["TemplateForm"]>;
export type Template = Omit<Schemas["Template"], "inputs"> & { inputs: TemplateForm };
/** Whether there is something to object to in what a hub wants to be paid for a job. */
export type JobDispute = Schemas["JobDispute"];
export type DeskStake = Schemas["DeskStake"];
export type DeskVotes = Schemas["DeskVotes"];
export type NodeReward = Schemas["NodeReward"];
export type NodeRewards = Schemas["NodeRewards"];
export type Overdue = Schemas["OverdueOrders"];
export type Proposal = Schemas["Proposal"];
/** What a proposal would do. */
export type ProposalAct = Schemas["ProposalAct"];
export type VoteChoice = Schemas["VoteChoice"];
export type WalletLine = Schemas["WalletLine"];

// Accounts

export type Session = Schemas["SessionView"];
export type SessionView = Schemas["SessionEntry"];
/** What a token may be good for. */
export type Scope = keyof Schemas["ScopesView"];
export type Scopes = Schemas["ScopesView"];
export type TokenView = Schemas["TokenView"];
export type TokenMade = Schemas["MadeToken"];
export type TokenWanted = Schemas["WantedToken"];
export type PasskeyView = Schemas["PasskeyView"];
export type LinkedWallet = Schemas["WalletView"];
export type SecurityEvent = Schemas["EventView"];
/** What can happen to a job that a webhook tells of. */
export type JobEvent = Schemas["JobEvent"];
export type WebhookView = Schemas["WebhookView"];
export type WebhookMade = Schemas["WebhookMade"];
export type WebhookWanted = Schemas["NewWebhook"];
export type DeliveryView = Schemas["DeliveryView"];

// Machines

export type MachineView = Schemas["MachineView"];
export type Telemetry = Schemas["Telemetry"];
export type Penalty = Schemas["Penalty"];
export type EarningsView = Schemas["EarningsView"];

// The network, for everybody

export type RegionFigure = Schemas["RegionFigure"];
export type StatusView = Schemas["StatusView"];
export type StatusHistory = Schemas["StatusHistory"];

// What happens

export type AttemptChange = Schemas["AttemptChange"];
export type LiveEvent = Schemas["Numbered"];

/** A part of a list, and where the next one begins. */
export interface Page<T> {
  items: T[];
  next?: string | null;
}
