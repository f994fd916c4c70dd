/**
 * Encodes and decodes messages between an edge and its core. A greeting is a map, readable by any version; every other message
 * is a list: the number of its kind, then its fields in the order of the tables. Each fault is the end of a sentence about the
 * peer.
 */
import { packPlain, unpackOwn, unpackPlain } from '../../lib/plain-msgpack.ts';
import { fail, succeed, type Result } from '../../lib/result.ts';
import { readFields, writeFields, type NamedFields } from './edge-fields.ts';
import { isGreeting } from './edge-greeting.ts';
import { coreKinds, edgeKinds, type CoreMessage, type EdgeMessage, type SentByEdge } from './edge-message.ts';

const edgeCodec = codec<Exclude<SentByEdge, { kind: 'hello' }>>(edgeKinds);
const coreCodec = codec<Exclude<CoreMessage, { kind: 'hello' | 'declined' }>>(coreKinds);

export function encodeEdgeMessage(message: SentByEdge): Buffer {
  return packPlain(message.kind === 'hello' ? message : edgeCodec.encode(message));
}

export function encodeCoreMessage(message: CoreMessage): Buffer {
  const isHello = message.kind === 'hello' || message.kind === 'declined';
  return packPlain(isHello ? message : coreCodec.encode(message));
}

/** `isOwn`: the bytes come from a process of this machine's own user, and skip the msgpack scan. */
export function decodeEdgeMessage(bytes: Buffer, isOwn: boolean): Result<EdgeMessage, string> {
  return edgeCodec.decode(isOwn ? unpackOwn(bytes) : unpackPlain(bytes));
}

/** The edge trusts its core, which has the key or runs as the same user. */
export function decodeCoreMessage(bytes: Buffer): Result<CoreMessage, string> {
  return coreCodec.decode(unpackOwn(bytes));
}

function codec<Message extends { readonly kind: string }>(table: Readonly<Record<Message['kind'], object>>) {
  const kinds = Object.entries<object>(table).map(([kind, fields]) => ({
    kind,
    fields: Object.entries(fields) as NamedFields,
  }));
  const numbered = new Map(kinds.map(({ kind, fields }, number) => [kind, { number, fields }]));
  return {
    encode(message: Message): readonly unknown[] {
      const { number, fields } = numbered.get(message.kind) ?? { number: -1, fields: [] };
      return [number, ...writeFields(fields, message)];
    },
    decode(value: unknown): Result<Message, string> {
      const fault = 'sent an invalid message';
      if (!Array.isArray(value)) return fail(isGreeting(value) ? 'sent hello twice' : fault);
      const [number, ...given] = value as readonly unknown[];
      if (typeof number !== 'number') return fail(fault);
      const known = kinds[number];
      const message = known === undefined ? null : readFields({ kind: known.kind }, known.fields, given);
      return message === null ? fail(`${fault}, of kind ${number}`) : succeed(message as unknown as Message);
    },
  };
}
