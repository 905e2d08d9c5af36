import java.io.File;
import java.io.FileInputStream;
import java.security.KeyStore;
import java.security.cert.CertificateFactory;
import javax.net.ssl.TrustManagerFactory;

/** The server as the environment describes it. What is not wanted is null. */
final class Settings {
    static final String HOST = System.getenv("CELLSERVER_HOST");
    static final int PORT = Integer.parseInt(System.getenv("CELLSERVER_PORT"));
    static final String USER = System.getenv("CELLSERVER_USER");
    static final String PASSWORD = System.getenv("CELLSERVER_PASSWORD");
    static final String PROTOCOL = System.getenv("CELLSERVER_RESP");
    static final File AUTHORITY = System.getenv("CELLSERVER_CA") == null ? null : new File(System.getenv("CELLSERVER_CA"));

    private Settings() {}

    /** Trusts the authority alone. */
    static TrustManagerFactory trust() throws Exception {
        KeyStore store = KeyStore.getInstance(KeyStore.getDefaultType());
        store.load(null, null);
        try (FileInputStream in = new FileInputStream(AUTHORITY)) {
            store.setCertificateEntry("authority", CertificateFactory.getInstance("X.509").generateCertificate(in));
        }
        TrustManagerFactory factory = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
        factory.init(store);
        return factory;
    }
}
