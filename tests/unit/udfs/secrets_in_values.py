"""Forms of secrets in values, and the rule of conf/ that finds each; all are made up.

In a form `{n}` is a number of nine digits, so that each secret is unique, `{b}` a text of
59 letters and digits that ends in it. No other digit stands beside it.
"""

# The forms are put together here, so that no scanner takes this file for a leak.
_DASHES = "-----"
SECRETS = [
    ("pem-value", _DASHES + "BEGIN PRIVATE KEY" + _DASHES + "\n{b}\n" + _DASHES),
    ("pem-value", _DASHES + "BEGIN ENCRYPTED PRIVATE KEY" + _DASHES + " {b}"),
    ("pem-value", _DASHES + "BEGIN CERTIFICATE" + _DASHES + r"\n{b}"),
    ("pem-value", "MIIE" + "vQIBADANBg{b}"),
    ("pem-value", "b3BlbnNzaC1rZXk" + "tdjEAAA{b}"),
    ("jaas-value", 'org.x.PlainLoginModule required username="u" password="{n}";'),
    ("jaas-value", "org.x.ScramLoginModule  requisite\n  username={n};"),
    ("jaas-value", 'KafkaClient {{ com.acme.Auth sufficient key="{n}"; }};'),
    ("token-value", "eyJ" + "hbGciOiJIUzI1NiJ9.eyJzdWIiOiJ{b}.c2ln"),
    ("token-value", "Bearer " + "abcdefgh{n}"),
    ("token-value", "authorization:bearer  {b}"),
    ("token-value", "Basic " + "dXNlcjp{n}=="),
    ("token-value", "ghp" + "_{b}"),
    ("token-value", "github" + "_pat_{b}"),
    ("token-value", "glpat" + "-{b}"),
    ("token-value", "xoxb" + "-1234567890-{b}"),
    ("token-value", "sk" + "_live_{b}"),
    ("token-value", "npm" + "_{b}"),
    ("token-value", "pypi" + "-{b}"),
    ("token-value", "dapi" + "0123456789abcdef012345f{n}"),
    ("token-value", "hvs" + ".{b}"),
    ("token-value", "SG" + ".{b}.{b}"),
    ("url-value", "https://user:{n}@host:8081/path"),
    ("url-value", "redis://:pw{n}@host"),
    ("url-value", "amqp://token{n}@host"),
    ("url-value", "mongodb+srv://u:p/w{n}@host/db"),
    ("url-value", "http://u:a,p{n}@h"),
    ("url-value", "http://ok:80,http://user:{n}@b"),
    ("url-value", "jdbc:oracle:thin:scott/tiger{n}@//host:1521/x"),
    ("cloud-key-value", "AKIA" + "QWERTYU{n}"),
    ("cloud-key-value", "id ASIA" + "QWERTYU{n}, more"),
    ("cloud-key-value", "AIza" + "SyA-{b}"),
    ("cloud-key-value", "GOCSPX" + "-{b}"),
    ("cloud-key-value", "ya29" + ".{b}"),
    ("cloud-key-value", "https://x.blob.core.windows.net/c?sv=1&sig={b}%3D"),
    ("cloud-key-value", "SharedAccessSignature " + "sr=x&se={n}"),
    ("cloud-key-value", "aabcdefghijklmnopqrstuvwxyz{b}=="),
    ("cloud-key-value", "abc8Q~{b}"),
    ("aws-secret-value", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYE{n}"),
    ("named-secret-value", "password={n}"),
    ("named-secret-value", "user=a;Password = 'p{n}'"),
    ("named-secret-value", "jdbc:postgresql://host/db?user=a&password={n}"),
    ("named-secret-value", '{{"type": "service_account", "private_key": "{n}"}}'),
    ("named-secret-value", r"{{\"client_secret\":\"{n}\"}}"),
    ("named-secret-value", "x-api-key: {n}"),
    ("named-secret-value", "AccountName=a;AccountKey={n}"),
    ("named-secret-value", "Endpoint=sb://x/;SharedAccessKey={n}"),
    ("named-secret-value", "aws_secret_access_key = {n}"),
    ("named-secret-value", "accessToken:{n}"),
    ("named-secret-value", "a=b&password%3D{n}"),
    ("named-secret-value", "ssl.key.password=\\\n  p{n}"),
    ("named-secret-value", "pwd={n}"),
    ("named-secret-value", "<password>{n}</password>"),
    ("named-secret-value", "tool --db-password p{n} -x"),
    ("named-secret-value", "Authorization: Token {n}"),
]


FIRST_NUMBER = 900_000_000


def write_secret(form: str, number: int) -> str:
    """Return a secret of this form that holds FIRST_NUMBER + number."""
    digits = FIRST_NUMBER + number
    return form.format(n=digits, b=f"{'Kx7' * 16}Kx{digits}")
