/** Where the API is: scheme, host and port, and nothing behind them. */

/** Like `http://127.0.0.1:8080`, as URLs have it; null: it is no such origin. */
export function parseOrigin(text: string): string | null {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || !/^https?:$/.test(url.protocol)) return null;
  return url.href === `${url.origin}/` ? url.origin : null;
}
