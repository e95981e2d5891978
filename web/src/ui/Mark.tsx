/** The mark: an ear whose grains are tiles of work. */
export function Mark({ size = 28 }: { size?: number }) {
  const grains = [
    [16, 5.5],
    [10.6, 11],
    [21.4, 11],
    [10.6, 18.5],
    [21.4, 18.5],
  ] as const;
  return (
    <svg width={size} height={size} viewBox="0 0 32 32" aria-hidden="true">
      <path d="M16 29V11" stroke="var(--straw)" strokeWidth="2.2" strokeLinecap="round" />
      {grains.map(([x, y]) => (
        <rect
          key={`${x} ${y}`}
          x={x - 3}
          y={y - 3}
          width="6"
          height="6"
          rx="1.5"
          transform={`rotate(45 ${x} ${y})`}
          fill="var(--straw)"
        />
      ))}
    </svg>
  );
}
