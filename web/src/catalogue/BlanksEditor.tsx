import { Field } from "../ui/parts";
import { type Blank, type BlankType, mayPreset, TYPES, wrongBlank } from "./blanks";

/** What each blank is called and takes. */
export function BlanksEditor({ blanks, onChange }: { blanks: Blank[]; onChange: (blank: Blank) => void }) {
  return (
    <ul className="blanks">
      {blanks.map((blank) => (
        <li key={blank.name}>
          <fieldset className="blank">
            <legend className="mono">{`{{${blank.name}}}`}</legend>
            <One blank={blank} onChange={onChange} />
          </fieldset>
        </li>
      ))}
    </ul>
  );
}

function One({ blank, onChange }: { blank: Blank; onChange: (blank: Blank) => void }) {
  const wrong = wrongBlank(blank);
  const set = (change: Partial<Blank>) => onChange({ ...blank, ...change });
  return (
    <>
      <Field label="Takes">
        {(id) => (
          <select id={id} className="select" value={blank.type} onChange={(event) => set({ type: event.target.value as BlankType, preset: "" })}>
            {TYPES.map(([type, text]) => (
              <option key={type} value={type}>
                {text}
              </option>
            ))}
          </select>
        )}
      </Field>
      <Field label="Label">{(id) => <input id={id} className="input" maxLength={80} value={blank.title} onChange={(event) => set({ title: event.target.value })} />}</Field>
      {blank.type === "choice" ? (
        <Field label="To choose from, with commas">{(id) => <input id={id} className="input" value={blank.choices} onChange={(event) => set({ choices: event.target.value })} />}</Field>
      ) : null}
      {mayPreset(blank) ? <Preset blank={blank} onChange={(preset) => set({ preset })} /> : <p className="small soft blank-note">Whoever runs it chooses among their own, or sends it.</p>}
      {wrong ? (
        <p className="wrong blank-wrong" role="alert">
          {wrong}
        </p>
      ) : null}
    </>
  );
}

function Preset({ blank, onChange }: { blank: Blank; onChange: (preset: string) => void }) {
  return (
    <Field label="Default, optional">
      {(id) =>
        blank.type === "boolean" ? (
          <select id={id} className="select" value={blank.preset} onChange={(event) => onChange(event.target.value)}>
            <option value="">None</option>
            <option value="true">Yes</option>
            <option value="false">No</option>
          </select>
        ) : (
          <input id={id} className="input" value={blank.preset} onChange={(event) => onChange(event.target.value)} />
        )
      }
    </Field>
  );
}
