/** ISO 8601 with milliseconds and a numeric UTC offset: `2026-11-20T08:30:00.123+00:00`. Source: decisions.md, Wakeup. */
export function formatTimestamp(wallMs: number): string {
  return new Date(wallMs).toISOString().replace('Z', '+00:00');
}
