// Sends a request that the reader composes to this server, and shows the answer. The key stays in
// its field: it is not stored, and the page cannot connect to any other server.
import { element } from "./element.js";

const key = document.getElementById("key");
const shown = (text) => {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
};

export function tryIt(path, method, details, example) {
  const name = `try-${details.operationId}`;
  const inputs = (details.parameters ?? []).map((parameter) => field(name, parameter));
  const body =
    example === undefined
      ? null
      : element("textarea", {
          id: `${name}-body`,
          rows: "8",
          spellcheck: "false",
          text: JSON.stringify(example, null, 2),
        });
  const status = element("p", { role: "status", className: "status" });
  const answer = element("pre", { tabindex: "0", "aria-label": "Answer", hidden: "" });
  const form = element(
    "form",
    { "aria-label": `Try ${details.summary}` },
    details.security
      ? element("p", { className: "quiet", text: "Uses the key at the top of the page." })
      : null,
    method === "get"
      ? null
      : element("p", {
          className: "quiet",
          text: "This is done for real, to the memories of the key's owner.",
        }),
    ...inputs.map(({ label, input }) => element("p", {}, label, input)),
    body ? element("p", {}, element("label", { for: body.id, text: "Body (JSON)" }), body) : null,
    element("button", { type: "submit", text: "Send" }),
    status,
    answer,
  );
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    status.textContent = "Sending …";
    try {
      const response = await send(path, method, inputs, body, details.security);
      answer.textContent = shown(await response.text());
      status.textContent = `${response.status} ${response.statusText}`.trim();
    } catch (error) {
      answer.textContent = String(error.message ?? error);
      status.textContent = "The request could not be sent.";
    }
    answer.hidden = false;
  });
  return element("details", { className: "try" }, element("summary", { text: "Try it" }), form);
}

function field(name, parameter) {
  const id = `${name}-${parameter.name}`;
  const need = parameter.required ? " (required)" : "";
  const many = parameter.schema.type === "array" ? ", separated by commas" : "";
  const input = element("input", { id, autocomplete: "off", spellcheck: "false" });
  input.required = Boolean(parameter.required);
  return {
    parameter,
    input,
    label: element("label", { for: id, text: `${parameter.name}${need}${many}` }),
  };
}

function send(path, method, inputs, body, needsKey) {
  const query = new URLSearchParams();
  let filled = path;
  for (const { parameter, input } of inputs) {
    const value = input.value.trim();
    if (parameter.in === "path")
      filled = filled.replace(`{${parameter.name}}`, encodeURIComponent(value));
    else if (value && parameter.schema.type === "array") {
      for (const one of value.split(",")) query.append(parameter.name, one.trim());
    } else if (value) query.append(parameter.name, value);
  }
  const headers = {};
  if (needsKey && key.value.trim()) headers.Authorization = `Bearer ${key.value.trim()}`;
  if (body) headers["Content-Type"] = "application/json";
  const asked = query.size ? `?${query}` : "";
  return fetch(filled + asked, {
    method: method.toUpperCase(),
    headers,
    body: body?.value,
    credentials: "omit",
    redirect: "error",
  });
}
