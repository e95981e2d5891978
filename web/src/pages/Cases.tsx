// Providers that were found wrong, for everybody to see: what the court of the chain made of it, and the evidence.
import { useQuery } from "@tanstack/react-query";
import { Link } from "wouter";
import * as queries from "../api/queries";
import { CaseList } from "../court/CaseList";
import { Answer, Bed, Empty, Head } from "../ui/parts";

export default function Cases() {
  const cases = useQuery(queries.cases());
  return (
    <>
      <Head title="Cases">
        Providers whose answers were found wrong. A committee of other providers, drawn by the chain, decides whether they lose stake; anybody can check the evidence.
      </Head>
      <Bed>
        <Answer query={cases} what="cases" lines={6}>
          {(found) =>
            found.length > 0 ? (
              <CaseList cases={found} />
            ) : (
              <Empty title="Nobody was accused" action={<Link href="/">Why results can be believed</Link>}>
                When a result is found wrong and something is staked on it, the case is listed here. A hub without a chain has no court.
              </Empty>
            )
          }
        </Answer>
      </Bed>
    </>
  );
}
