import { useMutation, useQueryClient } from "@tanstack/react-query";
import * as hub from "../api/hub";
import { words } from "../api/http";
import type { MachineView } from "../api/views";
import { say } from "../app/toast";
import { Icon } from "../ui/Icon";

export function PauseButton({ machine }: { machine: MachineView }) {
  const cache = useQueryClient();
  const paused = machine.state === "paused";
  const act = useMutation({
    mutationFn: () => (paused ? hub.resume(machine.id) : hub.pause(machine.id)),
    onSuccess: () => say(paused ? `${machine.offer.name} works again.` : `${machine.offer.name} is paused; what runs on it goes on elsewhere.`),
    onError: (error) => say(words(error)),
    onSettled: () => cache.invalidateQueries({ queryKey: ["machines"] }),
  });
  if (machine.state === "offline" || machine.state === "disqualified") return null;
  return (
    <button type="button" className="button small" disabled={act.isPending} onClick={() => act.mutate()}>
      <Icon name={paused ? "play" : "pause"} size={16} />
      {paused ? "Resume" : "Pause"}
    </button>
  );
}
