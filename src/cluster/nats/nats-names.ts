/**
 * Every subject, stream and bucket that the nodes of a cluster use, all of them under one prefix, so that several
 * clusters can share a NATS and its permissions can be written down. Device ids and member ids hold any character:
 * a hash and a token stand for them. Source: cluster.md, Route; decisions.md.
 */
import { createHash } from 'node:crypto';
import type { MemberId } from '../../model/cluster.ts';
import type { DeviceId } from '../../model/ids.ts';

export const bucketNames = [
  'rows',
  'members',
  'heartbeats',
  'registry',
  'wakeups',
  'calls',
  'hooks',
] as const;
export type BucketName = (typeof bucketNames)[number];

const keyHashBytes = 16;

export class NatsNames {
  readonly prefix: string;
  readonly everybody: string;
  /** The prefix of inboxes: answers of members, and what JetStream sends. */
  readonly inbox: string;
  readonly eventStream: string;
  /** The events of every device. */
  readonly events: string;

  /** `prefix` holds letters, digits, `-` and `_`. */
  constructor(prefix: string) {
    this.prefix = prefix;
    this.everybody = `${prefix}.everybody`;
    this.inbox = `${prefix}.inbox`;
    this.eventStream = `${prefix}_events`;
    this.events = `${prefix}.event.*`;
  }

  /** Questions and notices to one member. */
  member(member: MemberId): string {
    return `${this.prefix}.member.${memberToken(member)}`;
  }

  event(deviceId: DeviceId): string {
    return `${this.prefix}.event.${deviceHash(deviceId)}`;
  }

  bucket(name: BucketName): string {
    return `${this.prefix}_${name}`;
  }

  /** The stream that a bucket is kept in. */
  bucketStream(name: BucketName): string {
    return `KV_${this.bucket(name)}`;
  }
}

/** The key of a device in every bucket. Values carry the id too, and it is compared. */
export function deviceHash(deviceId: DeviceId): string {
  return hashedKey(deviceId);
}

/** 22 characters for any text: keys of buckets may hold fewer characters than ids. */
export function hashedKey(text: string): string {
  return createHash('sha256').update(text, 'utf8').digest().toString('base64url', 0, keyHashBytes);
}

/** The key of a member in every bucket. */
export function memberToken(member: MemberId): string {
  return Buffer.from(member, 'utf8').toString('base64url');
}
