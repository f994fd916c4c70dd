/** Colours the words of states on a terminal, at the start of a table cell or in the type of an event. */

/** By SGR code of the foreground: green, yellow, red. */
const words: Readonly<Record<number, readonly string[]>> = {
  32: ['up', 'online', 'asleep', 'on', 'ok', 'signs', 'connected', 'completed', 'delivered'],
  33: ['warn', 'configured', 'open-circuit', 'issued', 'establishing', 'ringing', 'attempting', 'accepted'],
  31: ['down', 'lost', 'offline', 'off', 'fail', 'failed', 'refused', 'expired', 'not delivered'],
};

const codes = new Map(
  Object.entries(words).flatMap(([code, these]) => these.map((word): [string, string] => [word, code])),
);
const candidate = /[a-z]+(?:[- ](?:circuit|delivered))?/g;
const before = /(?:^|\n|  |\.)$/;
const after = /^(?:$|\n|  | since | \(|[,:] | \d)/;

/** `text`: whole lines without escape sequences. */
export function colourStates(text: string): string {
  return text.replaceAll(candidate, (word, at: number) => {
    const code = codes.get(word);
    const end = at + word.length;
    if (code === undefined || !before.test(text.slice(Math.max(0, at - 2), at))) return word;
    return after.test(text.slice(end, end + 7)) ? `\u001b[${code}m${word}\u001b[39m` : word;
  });
}
