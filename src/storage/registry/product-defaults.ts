/**
 * Parses the defaults of a product in a registry file, by the rules of the values that they replace. An error has the path of the
 * wrong field and quotes no value; null counts as absent. Source: docs/registry.md, Defaults of a product.
 */
import { z } from 'zod';
import { fail, succeed, type Result } from '../../lib/result.ts';
import { isJsonObject } from '../../lib/utf8.ts';
import type { JsonObject } from '../../model/json.ts';
import {
  heartbeatSecondsMax,
  heartbeatSecondsMin,
  productRetryMinSecondsMax,
  productRetrySecondsMax,
  productSleepServersMax,
} from '../../model/limits.ts';
import type { ProductDefaults } from '../../model/product-defaults.ts';
import { addressList, numberBetween, wholeNumber } from '../../model/settings-values.ts';
import { parseMediaProfile } from '../../protocol/rest/media-profile.ts';

export interface DefaultsFault {
  /** Path below the defaults; empty: the value itself is wrong. */
  readonly path: readonly string[];
  readonly reason: string;
}

const object = 'an object';

const retry = z
  .strictObject(
    {
      min_s: wholeNumber(1, productRetryMinSecondsMax),
      max_s: wholeNumber(1, productRetrySecondsMax),
      jitter: numberBetween(0, 1),
    },
    object,
  )
  .refine(({ min_s: min, max_s: max }) => min <= max, 'one with a min_s that is not above max_s');

const servers = addressList.refine(
  ({ length }) => length >= 1 && length <= productSleepServersMax,
  `1-${productSleepServersMax} addresses such as sleep.example:8081, in a list`,
);

const defaultsShape = z.strictObject(
  {
    heartbeat_s: wholeNumber(heartbeatSecondsMin, heartbeatSecondsMax).optional(),
    sleep: z.strictObject({ servers: servers.optional(), retry: retry.optional() }, object).optional(),
    media: z.custom<JsonObject>(isJsonObject, 'an object of fields of POST /v1/token/msgvoip').optional(),
  },
  object,
);

/** Null: no defaults. Never throws. */
export function parseProductDefaults(json: unknown): Result<ProductDefaults | null, DefaultsFault> {
  const shaped = defaultsShape.safeParse(withoutNulls(json), { reportInput: true });
  if (!shaped.success) return fail(faultOf(shaped.error));
  const { heartbeat_s: heartbeat, sleep = {}, media: given = {} } = shaped.data;
  const media = parseMediaProfile(given);
  if (!media.ok) return fail({ path: ['media', media.error.field], reason: media.error.rule });
  const { servers, retry } = sleep;
  const advice = { ...(servers && { servers }), ...(retry && { retry }) };
  const defaults: ProductDefaults = {
    ...(heartbeat !== undefined && { heartbeat_s: heartbeat }),
    ...(hasFields(advice) && { sleep: advice }),
    ...(hasFields(media.value) && { media: media.value }),
  };
  return succeed(hasFields(defaults) ? defaults : null);
}

function faultOf({ issues: [issue] }: z.ZodError): DefaultsFault {
  const path = (issue?.path ?? []).map(String);
  if (issue?.code === 'unrecognized_keys')
    return { path: [...path, issue.keys[0] ?? ''], reason: 'is not a field of the defaults of a product' };
  const isMissing = issue?.code === 'invalid_type' && issue.input === undefined;
  return { path, reason: isMissing ? 'is missing' : `must be ${issue?.message}` };
}

function hasFields(value: object): boolean {
  return Object.keys(value).length > 0;
}

/** The levels are defaults, sleep and retry. */
const depthMax = 3;

function withoutNulls(json: unknown, depth = depthMax): unknown {
  if (depth === 0 || !isJsonObject(json)) return json;
  const kept = Object.entries(json).filter(([, value]) => value !== null);
  return Object.fromEntries(kept.map(([field, value]) => [field, withoutNulls(value, depth - 1)]));
}
