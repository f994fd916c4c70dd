/** A request body that must be a JSON object. Source: decisions.md, HTTP. */
import { decodeJsonObject } from '../../lib/json-object.ts';
import { fail, type Result } from '../../lib/result.ts';
import type { JsonObject } from '../../model/json.ts';

/** The object, or what is wrong in words for the caller. */
export function parseJsonObject(body: Uint8Array): Result<JsonObject, string> {
  const decoded = decodeJsonObject(body);
  return decoded.ok ? decoded : fail(`body: ${decoded.error}`);
}
