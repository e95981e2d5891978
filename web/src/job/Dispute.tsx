// An objection to what the hub wants to be paid, where there is a reason for one.
import { useQuery } from "@tanstack/react-query";
import * as hub from "../api/hub";
import * as queries from "../api/queries";
import type { JobDispute, JobView } from "../api/views";
import { moment } from "../format/time";
import { Act } from "../stake/Doing";
import { Bed } from "../ui/parts";
import { Money } from "../ui/words";
import { objection } from "./dispute";

/** Nothing is shown where the hub has no chain, or the job was not ordered at this desk: there is nothing to object to here. */
export function Dispute({ job }: { job: JobView }) {
  const wallet = useQuery(queries.wallet);
  const { data } = useQuery({ ...queries.dispute(job.id), enabled: wallet.data?.chain === true });
  const about = data ? objection(data) : null;
  if (!data || !about) return null;
  return (
    <Bed title={about.title}>
      <div className="stack">
        <p>
          It says <Money amount={data.claimed} />; what was delivered comes to <Money amount={data.delivered} />.
        </p>
        <Terms dispute={data} />
        {about.verb ? <Act main text={about.verb} done="It is on the chain." act={(key) => hub.disputeJob(job.id, key)} /> : null}
      </div>
    </Bed>
  );
}

function Terms({ dispute }: { dispute: JobDispute }) {
  if (dispute.step !== "challenge") return null;
  return (
    <p className="soft">
      A committee of auditors decides between the two. Your bond of <Money amount={dispute.bond} /> is lost if they side with the hub.
      {dispute.until == null ? "" : ` You can object until ${moment(dispute.until * 1000)}.`}
    </p>
  );
}
