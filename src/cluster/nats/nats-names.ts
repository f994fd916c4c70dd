/**
 * Every subject, stream and bucket that the nodes of a cluster use, all of them under one prefix, so that several
 * clusters can share a NATS and its permissions can be written down. Device ids and member ids hold any character:
 * a hash and a token stand for them. Source: cluster.md, Route; decisions.md.
 */
import { createHash } from 'node:crypto';
import type { MemberId } from '../../model/cluster.ts';
import type { DeviceId } from '../../model/ids.ts';

export const bucketNames = ['rows', 'members', 'beats', 'registry', 'wakeups', 'calls', 'hooks'] as const;
export type BucketName = (typeof bucketNames)[number];

const deviceHashBytes = 16;

export class NatsNames {
  readonly prefix: string;
  readonly everybody: string;
  /** Answers come below it, and what JetStream sends. */
  readonly inbox: string;
  readonly eventStream: string;
  /** Of every device. */
  readonly events: string;

  /** Letters, digits, `-` and `_`. */
  constructor(prefix: string) {
    this.prefix = prefix;
    this.everybody = `${prefix}.everybody`;
    this.inbox = `${prefix}.inbox`;
    this.eventStream = `${prefix}_events`;
    this.events = `${prefix}.event.*`;
  }

  /** Where one member is asked and told. */
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

/** 22 characters, the key of a device in every bucket. Values carry the id too, and it is compared. */
export function deviceHash(deviceId: DeviceId): string {
  const hash = createHash('sha256').update(deviceId, 'utf8').digest();
  return hash.toString('base64url', 0, deviceHashBytes);
}

/** The key of a member in every bucket. */
export function memberToken(member: MemberId): string {
  return Buffer.from(member, 'utf8').toString('base64url');
}
