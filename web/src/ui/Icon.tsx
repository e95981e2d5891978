// Small line drawings, 20 by 20.
const PATHS = {
  network: "M3 15c4-1 10-1 14 0M5 12V7m0 0-1.6 1.6M5 7l1.6 1.6M10 12V4m0 0L8.2 5.8M10 4l1.8 1.8M15 12V7m0 0-1.6 1.6M15 7l1.6 1.6",
  market: "M3 16V9m4.5 7V5M12 16v-5m4.5 5V3",
  catalogue: "M4 4h5v5H4zM11 4h5v5h-5zM4 11h5v5H4zM11 11h5v5h-5z",
  jobs: "M4 5h12M4 10h12M4 15h7",
  add: "M10 4v12M4 10h12",
  files: "M3 6.5A1.5 1.5 0 0 1 4.5 5H8l1.6 2h5.9A1.5 1.5 0 0 1 17 8.5v6a1.5 1.5 0 0 1-1.5 1.5h-11A1.5 1.5 0 0 1 3 14.5z",
  wallet: "M3.5 6.5h12A1.5 1.5 0 0 1 17 8v6.5a1.5 1.5 0 0 1-1.5 1.5h-11A1.5 1.5 0 0 1 3 14.5v-9A1.5 1.5 0 0 1 4.5 4H14M13.5 11.2h.01",
  machines: "M4 4h12v5H4zM4 11h12v5H4zM7 6.5h.01M7 13.5h.01",
  earnings: "M10 17V8m0 3c-3 0-4-2-4-4 3 0 4 2 4 4Zm0 3c3 0 4-2 4-4-3 0-4 2-4 4ZM10 6.5C8.7 5.3 8.9 3.8 10 3c1.1.8 1.3 2.3 0 3.5Z",
  stake: "M10 3.5 16 6v4c0 3.4-2.4 5.7-6 7-3.6-1.3-6-3.6-6-7V6zM7.3 10l2 2 3.6-4",
  account: "M10 10.5a3.2 3.2 0 1 0 0-6.4 3.2 3.2 0 0 0 0 6.4ZM4 16.5c1.2-2.6 3.3-3.8 6-3.8s4.8 1.2 6 3.8",
  more: "M4 6h12M4 10h12M4 14h12",
  close: "m5 5 10 10M15 5 5 15",
  sun: "M10 13.2a3.2 3.2 0 1 0 0-6.4 3.2 3.2 0 0 0 0 6.4ZM10 2.5v1.8m0 11.4v1.8M2.5 10h1.8m11.4 0h1.8M4.7 4.7 6 6m8 8 1.3 1.3M4.7 15.3 6 14m8-8 1.3-1.3",
  moon: "M16 11.6A6.5 6.5 0 0 1 8.4 4a6.5 6.5 0 1 0 7.6 7.6Z",
  system: "M3.5 4.5h13v9h-13zM8 16.5h4",
  search: "M9 14.5a5.5 5.5 0 1 0 0-11 5.5 5.5 0 0 0 0 11Zm4-1.5 3.5 3.5",
  copy: "M7 7h9v9H7zM4 13V4h9",
  check: "m4 10.5 4 4 8-9",
  pause: "M7 5v10M13 5v10",
  play: "m6.5 4.5 9 5.5-9 5.5z",
  out: "M8 4H4v12h4M12 7l3 3-3 3M15 10H8",
  up: "M10 15V5m0 0L5.5 9.5M10 5l4.5 4.5",
  down: "M10 4v9m0 0 4-4m-4 4-4-4M4 16.5h12",
  arrow: "M4 10h12m0 0-4-4m4 4-4 4",
  key: "M12.5 9.5a3.5 3.5 0 1 0-3.3-2.3L3.5 13v3h3v-2h2v-2h1.8l.6-.6a3.5 3.5 0 0 0 1.6.1Z",
} as const;

export type IconName = keyof typeof PATHS;

export function Icon({ name, size = 20 }: { name: IconName; size?: number }) {
  return (
    <svg
      className="icon"
      width={size}
      height={size}
      viewBox="0 0 20 20"
      fill="none"
      stroke="currentColor"
      strokeWidth="1.6"
      strokeLinecap="round"
      strokeLinejoin="round"
      aria-hidden="true"
    >
      <path d={PATHS[name]} />
    </svg>
  );
}
