/** Batches of connectivity queries: a list of any length as requests of the size that the API takes, and their answers as one. */
import type { ConnectivityBatchCode } from '../model/codes.ts';
import { batchDevicesMax, bodyBytesMax } from '../model/limits.ts';
import type { ApiResult, ConnectivityBatchData } from './answers.ts';

type BatchResult = ApiResult<ConnectivityBatchData, ConnectivityBatchCode>;

/** One request after the other; the first that is refused is the result. An empty list is one request of none. */
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

/** Room for the other characters of a batch's body. */
const batchIdsBytesMax = bodyBytesMax - 64;

/** As many ids in each as one request takes, by number and by bytes. */
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
