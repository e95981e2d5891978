// What stands behind an account's word, what it is owed, and what it has a say in.
import { useQuery } from "@tanstack/react-query";
import * as queries from "../api/queries";
import { Overdue, Rewards } from "../stake/Owed";
import { Staked } from "../stake/Staked";
import { Votes } from "../stake/Votes";
import { Answer, Empty, Head } from "../ui/parts";

export default function Stake() {
  const wallet = useQuery(queries.wallet);
  return (
    <>
      <Head title="Stake and votes">What stands behind your word, what you are owed, and what you have a say in.</Head>
      <Answer query={wallet} what="your stake">
        {({ chain }) => (chain ? <OnChain /> : <Empty title="There is nothing to stake here">This hub keeps credit in its own books, and there is no chain.</Empty>)}
      </Answer>
    </>
  );
}

function OnChain() {
  const stake = useQuery(queries.stake);
  return (
    <div className="stack">
      <Answer query={stake} what="your stake">
        {(data) => <Staked stake={data} />}
      </Answer>
      <Rewards />
      <Overdue />
      <Votes />
    </div>
  );
}
