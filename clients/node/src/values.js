import { fromForm } from "./message.js";
import { SHAPES } from "./shapes.js";

/** How a value of JSON becomes one of JavaScript, by the name of its type. */
const READERS = {
  ms: (value) => new Date(value),
  us: (value) => new Date(value / 1000),
  bytes: (value) => Buffer.from(value, "base64"),
  Message: fromForm,
};

/** Return a value of the control port as an object of a type of types.d.ts; `null` and `undefined` become null. */
export function read(type, value) {
  if (value === null || value === undefined) return null;
  if (type.endsWith("[]")) return value.map((each) => read(type.slice(0, -2), each));
  if (type.endsWith("{}")) {
    return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, read(type.slice(0, -2), each)]));
  }
  if (READERS[type]) return READERS[type](value);
  return Object.fromEntries(
    SHAPES[type].map(([wire, name, inner]) => [name, inner ? read(inner, value[wire]) : (value[wire] ?? null)]),
  );
}

/** Return the items of a list in a response. */
export const listOf = (type, response, field) => read(`${type}[]`, response[field]);
