/** Colours on a terminal for the words of states, where they begin a cell of a table or end the type of an event. */

/** By the SGR code of the foreground: green, yellow, red. */
const words: Readonly<Record<number, readonly string[]>> = {
  32: ['up', 'online', 'asleep', 'on', 'ok', 'signs', 'connected', 'completed', 'delivered'],
  33: ['warn', 'configured', 'open-circuit', 'issued', 'establishing', 'ringing', 'attempting', 'accepted'],
  31: ['down', 'lost', 'offline', 'off', 'fail', 'failed', 'refused', 'expired', 'not delivered'],
};

const codes = new Map(
  Object.entries(words).flatMap(([code, these]) => these.map((word): [string, string] => [word, code])),
);
/** A word, or words, at the place of a state. */
const place = /(?<=^|  |\.)[a-z]+(?:[- ](?:circuit|delivered))?(?=$|  | since | \(|[,:] | \d)/gm;

/** `text`: whole lines, without any escape sequence. */
export function colourStates(text: string): string {
  return text.replaceAll(place, (word) => {
    const code = codes.get(word);
    return code === undefined ? word : `\u001b[${code}m${word}\u001b[39m`;
  });
}
