import { useQuery } from "@tanstack/react-query";
import * as hub from "../api/hub";
import * as queries from "../api/queries";
import type { NodeReward } from "../api/views";
import { units } from "../format/amount";
import { counted } from "../format/number";
import { moment } from "../format/time";
import { type Column, DataTable } from "../ui/DataTable";
import { Answer, Bed, Empty } from "../ui/parts";
import { Money } from "../ui/words";
import { Act } from "./Doing";
import { standing } from "./rewards";

const COLUMNS: Column<NodeReward>[] = [
  { id: "epoch", head: "Epoch", lead: true, by: (line) => line.epoch, cell: (line) => line.epoch },
  { id: "total", head: "Shared", number: true, by: (line) => units(line.total), cell: (line) => <Money amount={line.total} /> },
  { id: "share", head: "Yours", number: true, by: (line) => units(line.share), cell: (line) => <Money amount={line.share} /> },
  { id: "standing", head: "Standing", cell: (line) => standing(line, Date.now()) },
];

/** Shares of the node rewards. */
export function Rewards() {
  const rewards = useQuery(queries.rewards);
  const due = units(rewards.data?.due);
  return (
    <>
      <Bed flush title="Node rewards" lead="Paid work has a share of what is given out for each epoch.">
        <Answer query={rewards} what="node rewards">
          {({ items }) =>
            items.length > 0 ? (
              <DataTable rows={items} columns={COLUMNS} id={(line) => String(line.epoch)} label="Node rewards" first={12} />
            ) : (
              <Empty title="No node rewards have been shared yet">An epoch's are, once it has ended and tokens for it have vested.</Empty>
            )
          }
        </Answer>
      </Bed>
      {due > 0n ? (
        <Bed title="Rewards to claim">
          <div className="stack">
            <p>
              <Money amount={due} /> are yours.
            </p>
            <Act main text="Claim them" done="The rewards are in your wallet." act={hub.claimRewards} />
          </div>
        </Bed>
      ) : null}
    </>
  );
}

/** Money of orders that their hub did not settle in time. */
export function Overdue() {
  const overdue = useQuery(queries.overdue);
  return (
    <Bed title="Orders that nobody settled" lead="What an order has locked is yours again if its hub does not settle it before its deadline.">
      <Answer query={overdue} what="overdue orders" lines={2}>
        {({ amount, orders, next_deadline }) =>
          orders > 0 ? (
            <div className="stack">
              <p>
                <Money amount={amount} /> in {counted(orders, "order")} can be released.
              </p>
              <Act main text="Release" done="The money is free again." act={hub.release} />
            </div>
          ) : (
            <p className="soft">{next_deadline == null ? "There is none." : `There is none. The next deadline is on ${moment(next_deadline * 1000)}.`}</p>
          )
        }
      </Answer>
    </Bed>
  );
}
