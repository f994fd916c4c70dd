/** First messages of both ends of the link between an edge and its core. Each fault is the end of a sentence about the peer. */
import { unpackPlain } from '../../lib/plain-msgpack.ts';
import { fail, succeed, type Result } from '../../lib/result.ts';
import { edgeSessionsMax } from '../../model/sleep.ts';
import { isAddress, isAdvertised, isCount, isName, isSentence } from './edge-fields.ts';
import { edgeLinkVersion, type CoreMessage, type EdgeHello, type EdgeMessage } from './edge-message.ts';

const notALink = 'does not speak the protocol of the link';

/** Reads the version first: the rest of a hello may belong to another version. */
export function decodeEdgeHello(bytes: Buffer): Result<EdgeMessage, string> {
  const hello = unpackPlain(bytes);
  if (!isGreeting(hello) || hello.kind !== 'hello') return fail(notALink);
  if (hello.version !== edgeLinkVersion)
    return succeed({ kind: 'unfit', sentence: `the edge ${wordsOfVersion(hello.version)}` });
  const { version, name, instance, release, pid, address, advertise, maxSessions } = hello;
  if (!isName(name)) return unfit('name');
  if (!isName(instance)) return unfit('instance');
  if (!isName(release)) return unfit('release');
  if (!isCount(pid)) return unfit('pid');
  if (!isAddress(address)) return unfit('address');
  if (!isAdvertised(advertise)) return unfit('advertise');
  if (!isCount(maxSessions) || maxSessions < 1 || maxSessions > edgeSessionsMax) return unfit('maxSessions');
  return succeed({ kind: 'hello', version, name, instance, release, pid, address, advertise, maxSessions });
}

function unfit(field: keyof EdgeHello): Result<EdgeMessage, string> {
  return succeed({ kind: 'unfit', sentence: `the hello of the edge is out of range in its field ${field}` });
}

/** A hello of this version, or a decline of any version. */
export function decodeCoreHello(bytes: Buffer): Result<CoreMessage, string> {
  const greeting = unpackPlain(bytes);
  if (!isGreeting(greeting)) return fail(notALink);
  const { version, release, sentence } = greeting;
  if (greeting.kind === 'declined')
    return isSentence(sentence) ? succeed({ kind: 'declined', version, sentence }) : fail(notALink);
  if (version !== edgeLinkVersion) return fail(wordsOfVersion(version));
  return isName(release) ? succeed({ kind: 'hello', version, release }) : fail(notALink);
}

function wordsOfVersion(version: number): string {
  return `speaks version ${version} of the edge link, and this end version ${edgeLinkVersion}: run the same release on both`;
}

type Greeting = { readonly kind: 'hello' | 'declined'; readonly version: number } & Readonly<
  Record<string, unknown>
>;

export function isGreeting(value: unknown): value is Greeting {
  if (typeof value !== 'object' || value === null) return false;
  const { kind, version } = value as { readonly kind?: unknown; readonly version?: unknown };
  return (kind === 'hello' || kind === 'declined') && typeof version === 'number';
}
