/**
 * The streams and buckets that nodes share: the first node makes them, and all would make the same. One that is there
 * with other settings is left as it is, and logged: it may hold all there is. Source: cluster.md, Registry and Events.
 */
import {
  DiscardPolicy,
  JetStreamApiCodes,
  JetStreamApiError,
  RetentionPolicy,
  StorageType,
  type JetStreamManager,
  type StreamConfig,
} from '@nats-io/jetstream';
import { nanos } from '@nats-io/nats-core';
import type { Log } from '../../lib/log.ts';
import { bucketNames, type BucketName, type NatsNames } from './nats-names.ts';
import type { NatsOptions } from './nats-options.ts';

type Wanted = Partial<StreamConfig> & { name: string };

/** JetStream itself recognises an event that is published twice within this. */
const duplicateWindowMs = 120_000;
/** Buckets whose entries expire. */
const bucketTtlMs: Partial<Record<BucketName, number>> = { wakeups: 24 * 3600 * 1000 };
/** The name is in use, or its subjects are: which of the two depends on how far the other node has come with making it. */
const madeMeanwhile: ReadonlySet<number> = new Set([10_058, 10_065]);

/** Rejects while JetStream is unavailable, and with JetStream's words when it refuses to make one. */
export async function ensureStores(
  manager: JetStreamManager,
  names: NatsNames,
  options: NatsOptions,
  log: Log,
): Promise<void> {
  for (const wanted of [eventStream(names, options), ...buckets(names, options)]) {
    const there = (await find(manager, wanted.name)) ?? (await make(manager, wanted));
    logDifferences(wanted, there, log);
  }
}

async function find(manager: JetStreamManager, name: string): Promise<StreamConfig | null> {
  try {
    return (await manager.streams.info(name)).config;
  } catch (error) {
    if (error instanceof JetStreamApiError && error.code === JetStreamApiCodes.StreamNotFound) return null;
    throw error;
  }
}

async function make(manager: JetStreamManager, wanted: Wanted): Promise<StreamConfig> {
  try {
    // A copy: the client writes into what it is given.
    return (await manager.streams.add({ ...wanted })).config;
  } catch (error) {
    if (!(error instanceof JetStreamApiError) || !madeMeanwhile.has(error.code)) throw error;
    const there = await find(manager, wanted.name);
    // The subjects are another stream's.
    if (there === null) throw error;
    return there;
  }
}

function eventStream(names: NatsNames, options: NatsOptions): Wanted {
  return {
    ...common(options),
    name: names.eventStream,
    subjects: [names.events],
    max_msgs: options.eventsRetainedMax,
    max_age: nanos(options.eventsRetentionMs),
    duplicate_window: nanos(Math.min(duplicateWindowMs, options.eventsRetentionMs)),
    discard: DiscardPolicy.Old,
  };
}

function buckets(names: NatsNames, options: NatsOptions): Wanted[] {
  return bucketNames.map((bucket) => {
    const ttlMs = bucketTtlMs[bucket];
    return {
      ...common(options),
      name: names.bucketStream(bucket),
      subjects: [`$KV.${names.bucket(bucket)}.>`],
      max_msgs_per_subject: 1,
      allow_rollup_hdrs: true,
      discard: DiscardPolicy.New,
      ...(ttlMs !== undefined && { max_age: nanos(ttlMs) }),
    };
  });
}

/**
 * A read of the stream goes to its leader, so that everyone reads what was written. `allow_direct` lets the other replicas
 * answer those who ask them for it: when a server dies, there is no leader for 4 to 9 s.
 */
function common(options: NatsOptions): Partial<StreamConfig> {
  return {
    retention: RetentionPolicy.Limits,
    storage: StorageType.File,
    num_replicas: options.replicas,
    allow_direct: true,
  };
}

function logDifferences(wanted: Wanted, there: StreamConfig, log: Log): void {
  const differences = Object.entries(wanted).flatMap(([key, value]) => {
    const found = there[key as keyof StreamConfig] ?? false;
    const isSame = JSON.stringify(found) === JSON.stringify(value);
    return isSame ? [] : [`${key} is ${JSON.stringify(found)}, wanted ${JSON.stringify(value)}`];
  });
  if (differences.length > 0)
    log.warn(
      { stream: wanted.name },
      `a stream of NATS has other settings and is left so: ${differences.join('; ')}`,
    );
}
