/** The words of the signing scheme that more than one file needs. Source: tgv1-signing.md. */

export const algorithm = 'TGV1-HMAC-SHA256';
export const scopeTerminator = 'tgv1_request';

/** The headers of every request by lower-case name, and as a refusal spells them, in the order it looks for them. */
export const signingHeaders = [
  ['x-tg-algorithm', 'X-Tg-Algorithm'],
  ['x-tg-date', 'X-Tg-Date'],
  ['x-tg-app-id', 'X-Tg-App-Id'],
  ['x-tg-content-sha256', 'X-Tg-Content-Sha256'],
  ['x-tg-signed-headers', 'X-Tg-Signed-Headers'],
  ['authorization', 'Authorization'],
] as const;

/** Methods whose content headers are signed and whose query is not. */
export function hasBody(method: string): boolean {
  return method === 'POST' || method === 'PUT' || method === 'PATCH';
}
