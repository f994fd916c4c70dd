/** Splits a connectivity query of any length into requests that the API accepts, and joins their answers. */
import type { ConnectivityBatchCode } from '../model/codes.ts';
import { batchDevicesMax, bodyBytesMax } from '../model/limits.ts';
import type { ApiResult, ConnectivityBatchData } from './answers.ts';

type BatchResult = ApiResult<ConnectivityBatchData, ConnectivityBatchCode>;

/** Sends one request after another; the first refusal is the result. An empty list sends one empty request. */
export async function askInBatches(
  deviceIds: readonly string[],
  ask: (deviceIds: readonly string[]) => Promise<BatchResult>,
): Promise<BatchResult> {
  const [first = [], ...rest] = splitBatch(deviceIds);
  let result = await ask(first);
  for (const ids of rest) {
    if (!result.ok) return result;
    const { devices } = result.data;
    result = await ask(ids);
    if (result.ok) result = { ...result, data: { devices: devices.concat(result.data.devices) } };
  }
  return result;
}

/** Leaves room for the rest of the JSON body. */
const batchIdsBytesMax = bodyBytesMax - 64;

/** Each batch is within the limits of one request, by count and bytes. */
function splitBatch(deviceIds: readonly string[]): string[][] {
  const batches: string[][] = [];
  let bytesLeft = 0;
  for (const deviceId of deviceIds) {
    const bytes = Buffer.byteLength(JSON.stringify(deviceId)) + 1;
    const last = batches.at(-1);
    if (last !== undefined && last.length < batchDevicesMax && bytes <= bytesLeft) last.push(deviceId);
    else {
      batches.push([deviceId]);
      bytesLeft = batchIdsBytesMax;
    }
    bytesLeft -= bytes;
  }
  return batches;
}
