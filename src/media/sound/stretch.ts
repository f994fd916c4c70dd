/** Stretches sound by a few samples, spread over all of it, so that none is missed or heard twice. */

/** `samples`: interleaved, at least one per channel; `moments`: samples per channel of the result. */
export function stretch(samples: Int16Array, channels: number, moments: number): Int16Array<ArrayBuffer> {
  const stretched = new Int16Array(moments * channels);
  const last = samples.length / channels - 1;
  const step = (last + 1) / moments;
  for (let moment = 0; moment < moments; moment += 1) {
    const whole = Math.floor(moment * step);
    const part = moment * step - whole;
    for (let channel = 0; channel < channels; channel += 1) {
      const at = (index: number): number =>
        samples[Math.min(last, Math.max(0, index)) * channels + channel] ?? 0;
      const between = interpolate(at(whole - 1), at(whole), at(whole + 1), at(whole + 2), part);
      stretched[moment * channels + channel] = Math.max(-32_768, Math.min(32_767, Math.round(between)));
    }
  }
  return stretched;
}

/** Evaluates the cubic through `from` and `to` with the slopes of their neighbours. */
function interpolate(before: number, from: number, to: number, after: number, part: number): number {
  const slope = (to - before) / 2;
  const bend = before - 2.5 * from + 2 * to - after / 2;
  const turn = (after - before) / 2 + 1.5 * (from - to);
  return ((turn * part + bend) * part + slope) * part + from;
}
