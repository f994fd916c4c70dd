/** A signed request as a curl line for a POSIX shell: sent as signed, with nothing tidied up on the way. */
import { createHash, type X509Certificate } from 'node:crypto';
import { showableLines } from '../shell/showable.ts';

/** `body`: the text, or `@FILE`, as the option had it; null for none. `certificate`: the one to be met there, whatever its name. */
export function curlLine(
  method: string,
  url: string,
  headers: Readonly<Record<string, string>>,
  body: string | null,
  certificate: X509Certificate | null = null,
): string {
  const parts = [`curl -sS --globoff --path-as-is -X ${method} ${quote(url)}`];
  // Insecure of its name and signer only: curl wants the pinned key all the same.
  if (certificate !== null) parts.push(`--insecure --pinnedpubkey ${quote(keyPin(certificate))}`);
  // Curl counts the body itself, and by that name only.
  for (const [name, value] of Object.entries(headers))
    if (name !== 'Content-Length') parts.push(`-H ${quote(`${name}: ${value}`)}`);
  if ('Content-Length' in headers) parts.push(bodyPart(body ?? ''));
  return parts.join(' \\\n  ');
}

/** What starts with @ names a file to both of us. */
function bodyPart(body: string): string {
  return `--data-binary ${quote(body)}`;
}

function keyPin({ publicKey }: X509Certificate): string {
  const key = publicKey.export({ type: 'spki', format: 'der' });
  return `sha256//${createHash('sha256').update(key).digest('base64')}`;
}

/** What a terminal would obey is printed escaped, which a shell reads within `$'…'` only. */
function quote(text: string): string {
  if (showableLines(text) !== text) return `$'${text.replaceAll(/[\\']/g, '\\$&')}'`;
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
