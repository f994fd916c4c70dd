/** Requests as people type them for `sign` and `call`, and as a curl command for a POSIX shell. */
import { createHash, type X509Certificate } from 'node:crypto';
import { showableLines } from '../../lib/showable-text.ts';
import { readFileSync } from 'node:fs';
import { InvalidArgumentError, Option, type Command } from 'commander';
import { apiRoutes } from '../../gateways/api/routes.ts';
import type { Permission } from '../../model/registry.ts';
import type { HeaderSet } from '../../protocol/tgv1/signing-headers.ts';
import { hasBody } from '../../protocol/tgv1/signature.ts';
import { usageError } from '../shell/command-error.ts';
import { optionOf } from '../shell/option-values.ts';

export interface RequestTarget {
  readonly path: string;
  readonly rawQuery: string;
}

export interface RequestOptions {
  readonly body?: string;
  readonly headerSet: HeaderSet;
}

export function addRequestOptions(command: Command): Command {
  return command
    .argument('<method>', 'GET, POST, …', parseMethod)
    .argument('<target>', 'path and query, percent-encoded', parseTarget)
    .option('--body <json>', 'the body, or @FILE')
    .addOption(
      new Option('--header-set <set>', 'the signed headers').choices(['long', 'short']).default('long'),
    );
}

/** A path with its query, percent-encoded as on the wire. Throws InvalidArgumentError. */
function parseTarget(text: string): RequestTarget {
  if (!text.startsWith('/'))
    throw new InvalidArgumentError('Expected a path like /v1/device/connectivity?device_id=ID.');
  if (!/^[\x21-\x22\x24-\x7e]+$/.test(text))
    throw new InvalidArgumentError('Spaces, # and characters outside ASCII must be percent-encoded.');
  const mark = text.indexOf('?');
  return mark === -1
    ? { path: text, rawQuery: '' }
    : { path: text.slice(0, mark), rawQuery: text.slice(mark + 1) };
}

export function formatTarget({ path, rawQuery }: RequestTarget): string {
  return rawQuery === '' ? path : `${path}?${rawQuery}`;
}

/** The method in upper case. Throws InvalidArgumentError. */
const parseMethod = optionOf(
  (text) => (/^[A-Za-z]{1,16}$/.test(text) ? text.toUpperCase() : null),
  'Expected a method like GET or POST.',
);

/** The text itself, or the bytes of the file after `@`; null: no body. Throws a CommandError. */
export function readRequestBody(method: string, given: string | undefined): Buffer | null {
  if (given === undefined) return null;
  if (!hasBody(method)) throw usageError(`a ${method} request has no body`);
  return given.startsWith('@') ? readFileSync(given.slice(1)) : Buffer.from(given);
}

/** The permissions of the matching route; empty if there is none. */
export function permissionsFor(method: string, path: string): readonly Permission[] {
  const bare = path.replace(/(?<=.)\/$/, '');
  const route = apiRoutes.find((each) => each.method === method && each.path === bare);
  return route === undefined ? [] : [route.permission];
}

/**
 * A curl command that sends the signed request. `body`: text or `@FILE`, as in the option; null: none. `certificate`: pinned,
 * whatever its name.
 */
export function curlLine(
  method: string,
  url: string,
  headers: Readonly<Record<string, string>>,
  body: string | null,
  certificate: X509Certificate | null = null,
): string {
  const parts = [`curl -sS --globoff --path-as-is -X ${method} ${quote(url)}`];
  // Disables only the checks of name and issuer: curl still requires the pinned key.
  if (certificate !== null) parts.push(`--insecure --pinnedpubkey ${quote(keyPin(certificate))}`);
  // Curl sets Content-Length itself.
  for (const [name, value] of Object.entries(headers))
    if (name !== 'Content-Length') parts.push(`-H ${quote(`${name}: ${value}`)}`);
  // Curl also reads a leading @ as a file name.
  if ('Content-Length' in headers) parts.push(`--data-binary ${quote(body ?? '')}`);
  return parts.join(' \\\n  ');
}

function keyPin({ publicKey }: X509Certificate): string {
  const key = publicKey.export({ type: 'spki', format: 'der' });
  return `sha256//${createHash('sha256').update(key).digest('base64')}`;
}

/** Control characters need `$'…'`, the only quotes in which a shell reads escapes. */
function quote(text: string): string {
  if (showableLines(text) !== text) return `$'${text.replaceAll(/[\\']/g, '\\$&')}'`;
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
