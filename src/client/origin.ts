/** The origin of a server, as a user writes it. */

/** Normalizes an origin like `http://127.0.0.1:8080`; null: invalid. */
export function parseOrigin(text: string): string | null {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || !/^https?:$/.test(url.protocol)) return null;
  return url.href === `${url.origin}/` ? url.origin : null;
}
