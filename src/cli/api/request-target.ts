/** What `sign` and `call` are given: method, target and body, taken apart and checked. */
import { readFileSync } from 'node:fs';
import { InvalidArgumentError } from 'commander';
import type { Permission } from '../../model/registry.ts';
import { hasBody } from '../../protocol/tgv1/signature.ts';
import { usageError } from '../shell/command-error.ts';

export interface RequestTarget {
  readonly path: string;
  /** Without its question mark. */
  readonly rawQuery: string;
}

/** A path and its query as they go over the wire. Throws InvalidArgumentError. */
export function parseTarget(text: string): RequestTarget {
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

/** In upper case. Throws InvalidArgumentError. */
export function parseMethod(text: string): string {
  if (!/^[A-Za-z]{1,16}$/.test(text)) throw new InvalidArgumentError('Expected a method like GET or POST.');
  return text.toUpperCase();
}

/** The text itself, or the bytes of the file behind `@`; null when none was given. Throws a CommandError. */
export function readRequestBody(method: string, given: string | undefined): Buffer | null {
  if (given === undefined) return null;
  if (!hasBody(method)) throw usageError(`a ${method} request has no body`);
  return given.startsWith('@') ? readFileSync(given.slice(1)) : Buffer.from(given);
}

const permissionsByPath: ReadonlyMap<string, Permission> = new Map([
  ['/v1/device/connectivity', 'connectivity:read'],
  ['/v1/device/wakeup-request', 'wakeup:write'],
  ['/v1/device/message', 'message:send'],
  ['/v1/device/msgvoip-call-status', 'call:read'],
  ['/v1/token/msgvoip', 'call:issue'],
  ['/v1/events', 'events:read'],
]);

/** What a credential must hold for this path; null when it is none of ours. */
export function permissionFor(path: string): Permission | null {
  return permissionsByPath.get(path.length > 1 && path.endsWith('/') ? path.slice(0, -1) : path) ?? null;
}
